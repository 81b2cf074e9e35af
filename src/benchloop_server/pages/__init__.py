"""The pages: what a browser is shown. They call the services of features, and hold neither SQL nor rules of their own."""

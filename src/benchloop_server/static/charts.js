// Draws the figures of a page with plotly, in the colours of the page: <div class="chart" data-chart="ID"> and <script type="application/json" id="ID">.
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Figures name colours of tokens.css as "var:passed-fill".
function resolved(value) {
  if (typeof value === "string") return value.startsWith("var:") ? colour(value.slice(4)) : value;
  if (Array.isArray(value)) return value.map(resolved);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each)]));
  return value;
}

function template() {
  const axis = {
    gridcolor: colour("rule"), linecolor: colour("rule-strong"), zerolinecolor: colour("rule-strong"), automargin: true,
    title: { font: { size: 12 } }, tickfont: { size: 12 },
  };
  return {
    layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: colour("text") },
      margin: { l: 48, r: 16, t: 16, b: 44 }, xaxis: axis, yaxis: axis, showlegend: false,
      hoverlabel: { bgcolor: colour("ground-3"), bordercolor: colour("rule-strong"), font: { color: colour("text"), size: 12 } },
    },
  };
}

function draw(place) {
  const source = document.getElementById(place.dataset.chart);
  const figure = resolved(JSON.parse(source.textContent));
  const layout = { ...figure.layout, template: template() };
  window.Plotly.react(place, figure.data, layout, { displayModeBar: false, responsive: true });
}

function listen(place) {
  if (place.dataset.heard) return;
  place.dataset.heard = "1";
  place.on?.("plotly_click", (event) => {
    const target = event.points?.[0]?.customdata?.url ?? (typeof event.points?.[0]?.customdata === "string" ? event.points[0].customdata : null);
    if (target?.startsWith("/") && !target.startsWith("//")) location.assign(target);
  });
}

function all() {
  if (!window.Plotly) return;
  for (const place of document.querySelectorAll("[data-chart]")) { draw(place); listen(place); }
}

if (document.readyState === "complete") all();
else window.addEventListener("load", all);
document.addEventListener("theme", all);
window.addEventListener("beforeprint", all);

// Tables: a click or a key on a head sorts by that column, first from large to small.
function sortTable(table, at) {
  const heads = [...table.tHead.rows[0].cells];
  const descending = heads[at].getAttribute("aria-sort") !== "descending";
  heads.forEach((head, i) =>
    head.setAttribute("aria-sort", i !== at ? "none" : descending ? "descending" : "ascending"));
  const body = table.tBodies[0];
  const key = (row) => {
    const cell = row.cells[at];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : b - a);
  rows.sort((a, b) => (descending ? order(a[0], b[0]) : -order(a[0], b[0])));
  body.append(...rows.map((entry) => entry[1]));
}

function setUpTables() {
  for (const table of document.querySelectorAll("table"))
    [...table.tHead.rows[0].cells].forEach((head, at) =>
      head.querySelector("button").addEventListener("click", () => sortTable(table, at)));
  const filter = document.getElementById("filter");
  if (!filter) return;
  filter.addEventListener("input", () => {
    const word = filter.value.toLowerCase();
    for (const row of document.getElementById("ops").tBodies[0].rows)
      row.hidden = !row.textContent.toLowerCase().includes(word);
  });
}

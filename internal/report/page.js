'use strict';
const step = document.getElementById('step');
if (step) {
  const figures = document.querySelectorAll('.scenario');
  const rows = document.querySelectorAll('.scenarios tbody tr');
  const shown = document.getElementById('shown');
  const said = document.getElementById('said');
  const show = (speak) => {
    const n = Number(step.value);
    figures.forEach((f, i) => { f.hidden = i !== n; });
    rows.forEach((r, i) => r.classList.toggle('now', i === n));
    shown.textContent = figures[n].dataset.name;
    step.setAttribute('aria-valuetext', figures[n].dataset.name);
    if (speak) said.textContent = figures[n].querySelector('figcaption').textContent;
  };
  step.addEventListener('input', () => show(true));
  step.parentElement.hidden = false;
  show(false);
}
for (const input of document.querySelectorAll('input[type=search]')) {
  const rows = Array.from(document.querySelectorAll('#' + input.dataset.table + ' tbody tr'), (row) => {
    return { row, text: row.querySelector('th').textContent.toLowerCase() };
  });
  const status = input.parentElement.querySelector('[role=status]');
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let n = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((w) => text.includes(w));
      if (!row.hidden) n++;
    }
    status.textContent = input.value ? n + ' of ' + rows.length : '';
  });
  input.parentElement.hidden = false;
}

'use strict';
const step = document.getElementById('step');
if (step) {
  const figures = document.querySelectorAll('.scenario');
  const rows = document.querySelectorAll('.scenarios tbody tr');
  const shown = document.getElementById('shown');
  const show = () => {
    const n = Number(step.value);
    figures.forEach((f, i) => { f.hidden = i !== n; });
    rows.forEach((r, i) => r.classList.toggle('now', i === n));
    shown.textContent = figures[n].dataset.name;
    step.setAttribute('aria-valuetext', figures[n].dataset.name);
  };
  step.addEventListener('input', show);
  step.parentElement.hidden = false;
  show();
}
for (const input of document.querySelectorAll('input[type=search]')) {
  const rows = Array.from(document.querySelectorAll('#' + input.dataset.table + ' tbody tr'), (row) => {
    const text = row.querySelector('th').textContent;
    const plain = text.replace(/(?:%[0-9a-f]{2})+/gi, (escaped) => { try { return decodeURIComponent(escaped); } catch { return escaped; } });
    return { row, text: (text + ' ' + plain).toLowerCase() };
  });
  const status = input.parentElement.querySelector('[role=status]');
  const few = input.id === 'find-keys' ? 50 : rows.length, more = document.createElement('button');
  let all = false;
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const found = rows.filter(({ text }) => words.every((w) => text.includes(w)));
    for (const { row } of rows) row.hidden = true;
    for (const { row } of all ? found : found.slice(0, few)) row.hidden = false;
    status.textContent = input.value ? found.length + ' of ' + rows.length : '';
    more.hidden = all || found.length <= few;
    more.textContent = 'Show all ' + found.length;
  };
  input.addEventListener('input', show);
  more.addEventListener('click', () => { all = true; show(); });
  document.getElementById(input.dataset.table).after(more);
  input.parentElement.hidden = false;
  show();
}

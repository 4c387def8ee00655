"use strict";
const state = document.getElementById("state"), form = document.getElementById("try");

function say(text, lost) {
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("problem", lost);
  document.querySelector("main").classList.toggle("lost", lost);
}

// replace gives a part of the page new content. What is open stays open, with
// its explanation; the focus stays too. It returns false, and waits, while text of
// the part is selected.
function replace(id, html) {
  const part = document.getElementById(id), was = document.activeElement, held = part.contains(was);
  const selection = getSelection();
  if (!selection.isCollapsed && part.contains(selection.anchorNode)) return false;
  const next = document.createElement("template");
  next.innerHTML = html;
  for (const open of part.querySelectorAll("details[open]")) {
    const same = next.content.getElementById(open.id);
    if (same) same.replaceWith(open);
    else next.content.querySelector("[data-keep]")?.append(open);
  }
  part.replaceChildren(next.content);
  if (held) (was.isConnected ? was : document.getElementById(was.id))?.focus({preventScroll: true});
  return true;
}

// show fetches an explanation. Only this program's own answers are HTML.
async function show(at, url, init) {
  at.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(url, init), body = await answer.text();
    if (answer.headers.get("Content-Type").startsWith("text/html")) at.innerHTML = body;
    else at.textContent = body;
    if (at.dataset.lead) at.insertAdjacentHTML("afterbegin", '<p class="muted lead"></p>'), at.firstChild.textContent = at.dataset.lead + ":";
  } catch {
    at.textContent = "There was no answer. Is serve still running?";
  }
  at.removeAttribute("aria-busy");
}

document.addEventListener("toggle", (e) => {
  if (e.target.open && e.target.dataset.load) show(e.target.lastElementChild, e.target.dataset.load);
}, true);

form.addEventListener("submit", (e) => {
  e.preventDefault();
  show(document.getElementById("tried"), "live/try", {method: "POST", body: new URLSearchParams(new FormData(form))});
});

// Browsers have few connections to one server, and a page that watches holds one:
// a page that is hidden does not watch.
let events, pending = {};
function watch() {
  events?.close();
  if (document.hidden) return;
  events = new EventSource("live/events");
  events.onopen = () => say("live", false);
  events.onmessage = (e) => {
    Object.assign(pending, JSON.parse(e.data));
    for (const [id, html] of Object.entries(pending)) if (replace(id, html)) delete pending[id];
  };
  events.addEventListener("evicted", () => {
    events.close();
    say("too many pages are open: close others, then reload this one", true);
  });
  events.onerror = () => {
    say("connection lost, retrying", true);
    if (events.readyState === EventSource.CLOSED) setTimeout(watch, 3000);
  };
}
document.addEventListener("visibilitychange", watch);
watch();

"use strict";

/** stoppable says whether this page may stop something of a study. */
const stoppable = (s) => s.control && !s.halted;

/** askFirst asks a person whether to stop something, and does so. */
function askFirst(text, form) {
  const dialog = by("ask");
  by("ask-text").textContent = text;
  by("ask-no").onclick = () => dialog.close();
  by("ask-yes").onclick = () => {
    dialog.close();
    stop(form);
  };
  dialog.showModal();
}

/** stop asks the server to stop something, and tells what it says. */
async function stop(form) {
  const note = by("stop-note");
  try {
    const answer = await fetch("/api/stop", { method: "POST", body: new URLSearchParams(form) });
    if (answer.ok) note.textContent = form.study ? "The study stops after the current rounds." : "Trial " + form.trial + " stops after its current round.";
    else if (answer.status === 409) note.textContent = (await answer.text()).trim();
    else throw new Error((await answer.text()).trim());
  } catch (e) {
    tell(e);
  }
}

/** stopButton is the button of a trial that may go on, null for any other. */
function stopButton(s, t) {
  if (!stoppable(s) || t.state !== "running") return null;
  const b = make("button", "Stop", { type: "button", "aria-label": "Stop trial " + t.number });
  b.addEventListener("click", () => askFirst("Stop trial " + t.number + " after its current round? It cannot be continued; its best model so far is kept.", { trial: t.number }));
  return b;
}

/** stopping shows the button that stops the study. */
function stopping(s) {
  by("stopping").hidden = !stoppable(s) && by("stop-note").textContent === "";
  by("stop-study").hidden = !stoppable(s);
  by("stop-study").onclick = () => askFirst("Stop the study after the current rounds? It then selects from the models found so far and cannot be continued.", { study: "all" });
}

"use strict";

ask("/api/compare", view).then((c) => {
  by("note").textContent = "";
  shown(by("shown"), c, view);
  if (c.text.length) by("shown").firstElementChild.className = "answer";
}, tell);

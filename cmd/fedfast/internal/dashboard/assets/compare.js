"use strict";

ask("/api/compare", location.search.slice(1)).then((c) => {
  by("note").textContent = "";
  shown(by("shown"), c);
  if (c.text.length) by("shown").firstChild.className = "answer";
}, tell);

// Names for what the theme and the gallery leave without one, for those who hear the page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  // The label says less than what is to be seen: "Search", and a key.
  document.querySelectorAll(".search-button-field[aria-label]").forEach((button) => {
    button.setAttribute("aria-label", button.textContent.replace(/\s+/g, " ").trim());
  });
  // Arrows that unfold a part of the contents.
  document.querySelectorAll(".bd-sidebar-primary summary").forEach((arrow) => {
    const page = arrow.closest("li").querySelector("a");
    arrow.setAttribute("aria-label", `Pages of ${page.textContent.trim()}`);
  });
  // Thumbnails are links whose text is not shown.
  document.querySelectorAll(".sphx-glr-thumbcontainer a").forEach((link) => {
    link.setAttribute("aria-label", link.textContent.trim());
  });
});

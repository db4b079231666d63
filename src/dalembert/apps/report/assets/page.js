"use strict";
(() => {
  const root = document.documentElement, toggle = document.getElementById("theme");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
(() => {
  const box = document.getElementById("scene"), source = document.getElementById("scene-data");
  const scene = JSON.parse(source.textContent || "null");
  if (box && scene) viewRobot(box, box.querySelector("canvas"), document.getElementById("controls"), scene);
})();

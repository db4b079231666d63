// Frames with live robots follow the site's light and dark, however they were chosen, and are as high as what is in them.
(() => {
  const frames = () => [...document.querySelectorAll("iframe.live")];
  const tell = (frame) => frame.contentWindow?.postMessage({ theme: document.documentElement.dataset.theme }, "*");
  addEventListener("message", ({ source, data }) => {
    const frame = frames().find((f) => f.contentWindow === source);
    if (!frame || !(data?.height > 0)) return;
    frame.style.height = `${data.height + 10}px`;
    tell(frame);
  });
  new MutationObserver(() => frames().forEach(tell)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
})();

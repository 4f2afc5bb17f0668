() => {
  // Texts of the page whose contrast with what is behind them is below WCAG AA.
  const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let own = element; own; own = own.parentElement) {
      const [r, g, b, alpha = 1] = parse(getComputedStyle(own).backgroundColor);
      if (alpha === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some((own) => own.nodeType === 3 && own.textContent.trim());
    const style = getComputedStyle(element);
    const seen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest("svg, .unseen, :disabled");
    if (!text || !seen) continue;
    const [one, other] = [luminance(parse(style.color).slice(0, 3)), luminance(ground(element))].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < (large ? 3 : 4.5)) poor.push(`${element.tagName}.${element.className} "${element.textContent.trim().slice(0, 20)}" ${ratio.toFixed(2)}`);
  }
  return poor;
}

// A notice for browsers that cannot run the other scripts. They must be able to run this one, so its syntax is that of 2009.
(function () {
  "use strict";

  function isOld() {
    try {
      // The newest syntax in the other scripts.
      new Function("var a = null; a ||= {}; return a?.b ?? 1;");
    } catch (error) {
      return true;
    }
    return !Array.prototype.findLast || !Element.prototype.replaceChildren;
  }

  document.addEventListener("DOMContentLoaded", function () {
    if (!isOld()) return;
    document.getElementById("main").textContent = "";
    document.getElementById("old").removeAttribute("hidden");
  });
})();

// The interactive reference over the service's own description. It asks nobody else: no proxy, no fonts, no telemetry, no
// helper of its makers; the page's policy holds it to that.
(() => {
  "use strict";
  const place = document.getElementById("explore");
  if (!place || !window.Scalar) return;
  place.textContent = "";
  window.Scalar.createApiReference("#explore", {
    url: "/openapi.json",
    proxyUrl: "",
    telemetry: false,
    withDefaultFonts: false,
    persistAuth: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    documentDownloadType: "none",
    agent: { disabled: true },
    mcp: { disabled: true },
    authentication: { preferredSecurityScheme: "key" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    theme: "default",
    // Its own are too pale to read.
    customCss: ".light-mode { --scalar-color-2: #5c5c5c; --scalar-color-3: #666; --scalar-color-blue: #0067a8; --scalar-color-green: #00734a; } .dark-mode { --scalar-color-3: #909090; }",
  });
})();

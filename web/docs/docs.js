// SPDX-License-Identifier: Apache-2.0
// The description of the API as a page to try it out. Nothing is loaded from elsewhere, nothing is sent elsewhere.
"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)"), turn = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", turn);
turn();
window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#api",
    layout: "BaseLayout",
    deepLinking: true,
    validatorUrl: null, // no badge from a foreign server
    tryItOutEnabled: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    persistAuthorization: false,
    supportedSubmitMethods: ["get", "post"],
    onComplete: readable,
  });
});

/** For screen readers: names, landmarks and levels of headings, and no links inside of buttons. */
function readable() {
  const all = (what, ...pairs) => { for (const e of document.querySelectorAll(what)) for (const [name, value] of pairs) value == null ? e.removeAttribute(name) : e.setAttribute(name, value); };
  all(".schemes select", ["aria-label", "Server"]);
  all(".information-container", ["role", "region"], ["aria-label", "About this API"]);
  all(".schemes-server-container", ["role", "region"], ["aria-label", "Server and token"]);
  all("h3.opblock-tag, .models h4", ["aria-level", "2"]);
  all(".opblock-summary-control a", ["href", null]);
}

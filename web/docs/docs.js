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
  });
});

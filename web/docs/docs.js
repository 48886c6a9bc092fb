// SPDX-License-Identifier: Apache-2.0
// The description of the API as a page to try it out. Nothing is loaded from elsewhere, nothing is sent elsewhere.
"use strict";
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

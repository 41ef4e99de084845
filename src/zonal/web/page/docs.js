// The interface as a page to read and to try: Swagger UI on this server's own OpenAPI document.

window.addEventListener("DOMContentLoaded", () => {
  window.SwaggerUIBundle({
    url: "/-/openapi.json",
    dom_id: "#docs",
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    requestSnippetsEnabled: true,
  });
});

import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { commentOf, describedServices } from "../../dev/testing/transcoder/commented-protos.ts";
import { describeApi } from "./describe-api.ts";
import type { OperationDetails } from "./describe-operation.ts";

const services = describedServices("src/dev/testing/transcoder/library.proto", ["library.v1.LibraryService"]);
const details: OperationDetails = {
  successDescription: "Done.",
  security: [],
  errors: { "400": { description: "Refused." } },
};
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into, not typed.
const document: any = describeApi({
  info: { title: "Library", version: "1.0.0", license: { name: "MIT", identifier: "MIT" } },
  servers: [{ url: "/" }],
  services,
  commentOf,
  detailsOf: () => details,
  components: {},
});
const { paths } = document;
const { schemas } = document.components;
const namesOf = (parameters: { name: string; in: string }[], place: string) =>
  parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);

describe("describeApi()", () => {
  it("writes a document that the linter accepts as OpenAPI 3.1", async () => {
    const config = await createConfig({ extends: ["spec"] });
    const source = JSON.stringify(document);
    const problems = await lintFromString({ source, absoluteRef: "library.json", config });
    expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
  });

  it("describes every binding whose HTTP method OpenAPI knows", () => {
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item as object).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(described.sort()).toEqual([
      "delete /v1/books/{name} deleteBook",
      "get /v1/books searchBooks",
      "get /v1/books/{name} getBook2",
      "get /v1/files/{path} readFile",
      "get /v1/files/{path}:count countFile",
      "get /v1/shelves/main getMainShelf",
      "get /v1/shelves/{id} getShelf",
      "get /v1/shelves/{name.1}/books/{name.2} getBook",
      "patch /v1/shelves/{name.1}/books/{name.2} updateBook",
      "post /v1/books createBook",
      "post /v1/books/{name}:move moveBook",
      "post /v1/periods planPeriod",
      "put /v1/books/{name}/tags addTags",
    ]);
  });

  it("keeps the order of the parameters where two routes share a path", () => {
    const { get, patch } = paths["/v1/shelves/{name.1}/books/{name.2}"];
    expect(namesOf(patch.parameters, "path")).toEqual(namesOf(get.parameters, "path"));
  });

  it("puts the remaining fields into the query, as far as a query can carry them", () => {
    const { parameters } = paths["/v1/books"].get;
    expect(namesOf(parameters, "query")).toContain("chapter.heading");
    expect(namesOf(parameters, "query")).not.toContain("labels");
    expect(namesOf(paths["/v1/books/{name}/tags"].put.parameters, "query")).toEqual(["replace"]);
    expect(paths["/v1/books"].post.parameters).toBeUndefined();
  });

  it("uses the field of `body` as body, and answers with that of `response_body`", () => {
    const { requestBody, responses } = paths["/v1/books/{name}/tags"].put;
    const tags = { type: "array", items: { type: "string" } };
    expect(requestBody.content["application/json"].schema).toEqual({
      ...tags,
      items: { type: "string", minLength: 2 },
    });
    expect(responses["200"].content["application/json"].schema).toEqual(tags);
  });

  it("lets a body repeat the path's fields without requiring them", () => {
    const { schema } = paths["/v1/books/{name}:move"].post.requestBody.content["application/json"];
    expect(Object.keys(schema.properties)).toEqual(["name", "shelf"]);
    expect(schema.required).toBeUndefined();
  });

  it("keeps requests strict and answers complete", () => {
    const { "Book.Input": input, Book: output } = schemas;
    expect([input.required, input.additionalProperties]).toEqual([["title"], false]);
    expect(input.properties.title).toEqual({ type: "string", minLength: 1, maxLength: 40 });
    expect(input.properties.priceMinor).toMatchObject({ type: "integer", minimum: 0 });
    expect(output.properties.priceMinor).toEqual({ type: "integer", format: "int64" });
    expect(output.required).toContain("priceMinor");
    expect(output.required).not.toContain("subtitle");
    expect(output.additionalProperties).toBeUndefined();
  });

  it("describes in words what JSON Schema cannot express", () => {
    expect(schemas["Book.Input"].description).toContain("must have copies to be lent");
    expect(schemas.Book.description).toBeUndefined();
  });

  it("supports well-known types, maps and recursive types", () => {
    const { properties } = schemas.Book;
    expect(properties.publishedAt).toEqual({ type: "string", format: "date-time", pattern: "\\.[0-9]{3}Z$" });
    expect(properties.edition).toEqual({ type: "integer", format: "int64" });
    expect(properties.extra).toEqual({ type: "object", additionalProperties: true });
    expect(properties.sales.additionalProperties).toEqual({ type: "integer", format: "int64" });
    expect(schemas.Chapter.properties.parts.items).toEqual({ $ref: "#/components/schemas/Chapter" });
    expect(schemas["Period.Input"].properties.chapters.propertyNames).toEqual({ maxLength: 3 });
  });

  it("allows one member of a oneof, or requires one", () => {
    const required = (name: string) => ({ required: [name] });
    const owners = [required("person"), required("libraryId")];
    expect(schemas.Book.allOf).toEqual([{ oneOf: [...owners, { not: { anyOf: owners } }] }]);
    expect(schemas["Period.Input"].allOf).toEqual([{ oneOf: [required("daily"), required("weekly")] }]);
  });
});

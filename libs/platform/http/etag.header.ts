/**
 * The ETag of an answer, as OpenAPI has it. Reads, changes, and what makes something with a PATCH beside it have it by
 * themselves; other answers that carry one name it among their `headers`.
 */
export const ETAG_HEADER = {
  ETag: { description: 'Names this state of the resource.', required: true, schema: { type: 'string' } },
} as const;

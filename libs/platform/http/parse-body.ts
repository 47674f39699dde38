import { JsonInputError, parseJson } from '#platform/json';
import { problem } from '#platform/problem';

/** The value of a JSON body. Error: 400, with a pointer to what cannot be read. */
export function parseBody(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    throw problem.invalidRequest(error.detail, {
      errors: [{ pointer: error.pointer, detail: error.detail }],
    });
  }
}

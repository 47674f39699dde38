import { JsonInputError } from './json-input.error';

/** An element of a list that is valid JSON, but cannot be accepted. The other elements of the list are not affected. */
export class InvalidJson {
  /** @param pointer to the invalid value, within the element */
  constructor(
    readonly pointer: string,
    readonly detail: string,
  ) {}

  /** @param place pointer to the element */
  toError(place = ''): JsonInputError {
    return new JsonInputError(`${place}${this.pointer}`, this.detail);
  }
}

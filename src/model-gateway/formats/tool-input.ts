import { isObject, type JsonObject, jsonText, parsedObject } from './json-shape';

/** The member that Anthropic's documentation suggests for arguments that are not JSON. */
const INVALID_JSON = 'INVALID_JSON';

/**
 * Parses the arguments of a call. Models also write arguments that are not a JSON object, especially if they are cut off. Such a
 * text becomes a member of an object, because an empty object would look like a call without arguments.
 */
export function toolInputOf(callArguments: string): JsonObject {
  if (callArguments.trim() === '') return {};
  return parsedObject(callArguments) ?? { [INVALID_JSON]: callArguments };
}

/**
 * Returns the input of a call as the text of its arguments. Reverses {@link toolInputOf}, even for an invalid text.
 *
 * @returns undefined if the input is nested too deeply to write
 */
export function toolArgumentsOf(input: unknown): string | undefined {
  if (!isObject(input)) return '{}';
  const invalid = input[INVALID_JSON];
  if (typeof invalid === 'string' && Object.keys(input).length === 1) return invalid;
  return jsonText(input);
}

import { isObject, type JsonObject, listOf, nameOf, objectOf, parsedObject, textOf } from './json-shape';

/** The error that a provider reported. Missing parts are empty texts. */
export interface ReportedError {
  message: string;
  /** The parameter that is at fault. */
  parameter: string;
  code: string;
  /** Such as `overloaded_error`. */
  type: string;
}

/** Maximum faults of a list that become the message. */
const FAULTS_MAX = 5;

/**
 * Returns whether a body or an event reports an error, whatever its status: `error` as an object or a text, an object or event of
 * the type `error`, a list of `errors`, or an answer whose finish reason is `error`. Empty members such as `"error": null` report
 * none.
 */
export function isError(body: JsonObject): boolean {
  return (
    isFilled(body.error) ||
    body.object === 'error' ||
    body.type === 'error' ||
    isFilled(body.errors) ||
    failedChoiceOf(body) !== undefined
  );
}

/**
 * Reads the error of a body or an event that is not an answer, in the forms of OpenAI, Anthropic, vLLM, FastAPI and others. Ignores
 * other bodies, because the error page of an intermediary may reveal a network.
 */
export function errorOf(body: JsonObject): ReportedError {
  const nested = [body.error, failedChoiceOf(body)?.error, listOf(body.errors)[0], body.detail].find(
    isFilled,
  );
  const error = objectOf(nested);
  const type = [error.type, body.type, body.error_type].find((one) => one !== 'error' && nameOf(one));
  return {
    message: messageOf(nested) ?? messageOf(body) ?? '',
    parameter: textOf(error.param ?? body.param) ?? '',
    code: codeOf(error.code) ?? codeOf(error.status) ?? codeOf(body.code) ?? '',
    type: nameOf(type) ?? '',
  };
}

/** Reads the error of the body of a response with an error status. Google's servers send a list of one error. */
export const errorOfText = (text: string): ReportedError =>
  errorOf(parsedObject(text) ?? parsedObject(text.replace(/^\s*\[|\]\s*$/g, '')) ?? {});

/** Returns the choice of a chat completion that its server could not complete. */
const failedChoiceOf = ({ choices }: JsonObject): JsonObject | undefined =>
  Array.isArray(choices)
    ? choices.find((choice): choice is JsonObject => objectOf(choice).finish_reason === 'error')
    : undefined;

/** Returns whether a member has a value. */
const isFilled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.values(value).some(Boolean) : Boolean(value);

/** Returns the message in a text, an object, or a list of faults with their places. */
function messageOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return textIn(value);
  return nameOf(
    value
      .slice(0, FAULTS_MAX)
      .flatMap((fault) => faultOf(fault) ?? [])
      .join('; '),
  );
}

function faultOf(fault: unknown): string | undefined {
  const message = textIn(fault);
  const place = listOf(objectOf(fault).loc).flatMap((name) => codeOf(name) ?? []);
  return message === undefined || place.length === 0 ? message : `${place.join('.')}: ${message}`;
}

function textIn(value: unknown): string | undefined {
  if (!isObject(value)) return nameOf(value);
  const { message, msg, detail, error } = value;
  return [message, msg, detail, error, objectOf(error).message].map(nameOf).find(Boolean);
}

/** Returns a code, or a part of a place, which may be a number. */
const codeOf = (code: unknown): string | undefined =>
  typeof code === 'number' ? String(code) : nameOf(code);

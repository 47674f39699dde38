import { isJsonObject, isObjectValue, toRawJson } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { type DeclaredToolDto, TOOL_DESCRIPTION_MAX, TOOL_NAME_MAX, TOOL_OBJECT_MAX_BYTES } from './tool.dto';

/** The number of faults after which the checks stop. */
const FAULTS_MAX = 100;

/** A listed tool that cannot be used. */
export interface SkippedTool {
  /** Its place in the list, such as `#2`, if it has no valid name. */
  name: string;
  reason: string;
}

type Check = (value: unknown) => string | null;

const text =
  (min: number, max: number, isName: boolean): Check =>
  (value) => {
    if (typeof value !== 'string') return 'must be a string';
    if (value.length < min || value.length > max) return `must have ${min} to ${max} characters`;
    if (isName && /\p{Cc}/u.test(value)) return 'must not contain control characters';
    return value.includes('\0') ? 'must not contain NUL characters (\\u0000)' : null;
  };

const object: Check = (value) => {
  if (!isObjectValue(value)) return 'must be an object';
  if (Buffer.byteLength(toRawJson(value).text) <= TOOL_OBJECT_MAX_BYTES) return null;
  return `must be an object of at most ${TOOL_OBJECT_MAX_BYTES / 1024} KiB as JSON`;
};

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null ? null : check(value);

/** Checks without class-validator, which would be slow for an app with tens of thousands of tools. */
const CHECKS: Record<keyof DeclaredToolDto, Check> = {
  name: text(1, TOOL_NAME_MAX, true),
  title: optional(text(0, TOOL_NAME_MAX, true)),
  description: optional(text(0, TOOL_DESCRIPTION_MAX, false)),
  input_schema: object,
  inputSchema: object,
  output_schema: optional(object),
  outputSchema: optional(object),
  annotations: optional(object),
};
const MEMBERS = Object.entries(CHECKS);

/**
 * Returns the faults of a list of tools. A list without faults contains only `DeclaredToolDto`s.
 *
 * @param pointer the JSON pointer of the list
 */
export function toolFaults(tools: readonly unknown[], pointer: string): FieldError[] {
  const faults: FieldError[] = [];
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    if (faults.length >= FAULTS_MAX) break;
    const place = `${pointer}/${index}`;
    if (!isJsonObject(tool)) {
      faults.push({ pointer: place, detail: 'must be an object' });
      continue;
    }
    for (const [member, detail] of memberFaults(tool)) faults.push({ pointer: `${place}/${member}`, detail });
    if (typeof tool.name === 'string' && names.has(tool.name)) {
      faults.push({ pointer: `${place}/name`, detail: REPEATED_NAME });
    }
    names.add(tool.name);
  }
  return faults;
}

/** Returns the fault of the name of a tool, which may be any value, or null. */
export function toolNameFault(name: unknown): string | null {
  const fault = CHECKS.name(name);
  if (fault !== null) return fault;
  return /\p{Cs}/u.test(name as string) ? 'must not contain half of a surrogate pair' : null;
}

export const REPEATED_NAME = 'repeats the name of an earlier tool';

/** Returns the faults of a tool, each with its member. A tool without faults is a `DeclaredToolDto`. */
export function memberFaults(tool: Record<string, unknown>): [member: string, detail: string][] {
  const faults: [string, string][] = [];
  for (const [member, check] of MEMBERS) {
    const detail = tool[member] === undefined ? missingReason(tool, member) : check(tool[member]);
    if (detail !== null) faults.push([member, detail]);
  }
  for (const [own, protocolName] of SPELLINGS) {
    if (tool[own] === undefined || tool[protocolName] === undefined) continue;
    faults.push([protocolName, `is another spelling of \`${own}\`. Send only one of them.`]);
  }
  return faults;
}

/** Members that may also have their Model Context Protocol spelling. */
const SPELLINGS = [
  ['input_schema', 'inputSchema'],
  ['output_schema', 'outputSchema'],
] as const;

function missingReason(tool: Record<string, unknown>, member: string): string | null {
  if (member === 'name') return 'is required';
  return member === 'input_schema' && tool.inputSchema === undefined ? 'is required' : null;
}

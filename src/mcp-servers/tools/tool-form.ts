import { isJsonObject } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { type GivenToolDto, TOOL_DESCRIPTION_MAX, TOOL_NAME_MAX } from './given-tool.dto';

/** As many as an answer has room for. */
const FAULTS_MAX = 100;

type Check = (value: unknown) => string | null;

const text =
  (min: number, max: number, isName: boolean): Check =>
  (value) => {
    if (typeof value !== 'string') return 'must be a string';
    if (value.length < min || value.length > max) return `must have ${min} to ${max} characters`;
    return isName && /\p{Cc}/u.test(value) ? 'must not hold control characters' : null;
  };

const object: Check = (value) => (isJsonObject(value) ? null : 'must be an object');

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null ? null : check(value);

/** By hand, because an app may declare tens of thousands of tools, of which class-validator takes its time. */
const CHECKS: Record<keyof GivenToolDto, Check> = {
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
 * What is wrong with a list of tools. None: they are `GivenToolDto`s.
 *
 * @param pointer of the list
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
    for (const [member, check] of MEMBERS) {
      const detail = tool[member] === undefined ? whyRequired(tool, member) : check(tool[member]);
      if (detail !== null) faults.push({ pointer: `${place}/${member}`, detail });
    }
    for (const [own, ofProtocol] of SPELLINGS) {
      if (tool[own] === undefined || tool[ofProtocol] === undefined) continue;
      faults.push({
        pointer: `${place}/${ofProtocol}`,
        detail: `is another spelling of ${own}: give one of them`,
      });
    }
    if (typeof tool.name === 'string' && names.has(tool.name)) {
      faults.push({ pointer: `${place}/name`, detail: 'is the name of another tool of the list' });
    }
    names.add(tool.name);
  }
  return faults;
}

/** Members that may be spelt as the Model Context Protocol spells them. */
const SPELLINGS = [
  ['input_schema', 'inputSchema'],
  ['output_schema', 'outputSchema'],
] as const;

function whyRequired(tool: Record<string, unknown>, member: string): string | null {
  if (member === 'name') return 'is required';
  return member === 'input_schema' && tool.inputSchema === undefined ? 'is required' : null;
}

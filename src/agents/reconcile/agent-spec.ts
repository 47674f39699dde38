import { pointerToken, validateBody } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { type FieldError, Problem } from '#platform/problem';
import type { Declared } from '../../registry';
import { AgentSpecDto } from './agent-spec.dto';

/** Tools and skills that the agents of an app refer to: what a sweep looks up, and holds in memory. */
const REFERENCES_MAX = 20_000;

/** As many as an answer has room for. */
const FAULTS_MAX = 50;

export const TWICE = 'is there twice';

type Check = (value: unknown) => string | null;

const isText: Check = (value) =>
  typeof value === 'string' && value.length >= 1 && value.length <= 255
    ? null
    : 'must be a text of 1 to 255 characters';

const isOrdinal: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) < 2 ** 31
    ? null
    : `must be an integer from 1 to ${2 ** 31 - 1}`;

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null ? null : check(value);

/** How a reference is written. */
interface Form {
  /** What it refers to is named by exactly one of these. */
  ways: readonly [string, string];
  checks: ReadonlyMap<string, Check>;
  /** What tells it from others. */
  key: readonly string[];
}

const TOOL: Form = {
  ways: ['server', 'server_id'],
  checks: new Map([
    ['server', optional(isText)],
    ['server_id', optional(isText)],
    ['tool_name', isText],
  ]),
  key: ['server', 'server_id', 'tool_name'],
};

const SKILL: Form = {
  ways: ['skill', 'skill_id'],
  checks: new Map([
    ['skill', optional(isText)],
    ['skill_id', optional(isText)],
    ['version_ordinal', optional(isOrdinal)],
  ]),
  key: ['skill', 'skill_id'],
};

/** What of a spec is not of the right form. */
export function faultsInSpec(spec: Record<string, unknown>, pointer: string): FieldError[] {
  try {
    const { tools, skills } = validateBody(AgentSpecDto, spec, pointer);
    return [
      ...faultsOf(tools ?? [], TOOL, `${pointer}/tools`),
      ...faultsOf(skills ?? [], SKILL, `${pointer}/skills`),
    ];
  } catch (error) {
    if (error instanceof Problem && error.errors) return [...error.errors];
    throw error;
  }
}

/** The agent with which the references of all of them become too many. */
export function faultsAmongSpecs(declared: readonly Declared[]): FieldError[] {
  let count = 0;
  for (const { spec, pointer } of declared) {
    for (const member of ['tools', 'skills'] as const) {
      const references = spec[member];
      if (Array.isArray(references)) count += references.length;
      if (count <= REFERENCES_MAX) continue;
      const detail = `with those of the agents before it, makes more than ${REFERENCES_MAX} tools and skills, which is as many as the agents of an app may have`;
      return [{ pointer: `${pointer}/spec/${member}`, detail }];
    }
  }
  return [];
}

/** By hand, because an app may declare tens of thousands of references. */
function faultsOf(references: readonly unknown[], form: Form, pointer: string): FieldError[] {
  const faults: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, reference] of references.entries()) {
    if (faults.length >= FAULTS_MAX) break;
    const place = `${pointer}/${index}`;
    if (!isJsonObject(reference)) {
      faults.push({ pointer: place, detail: 'must be an object' });
      continue;
    }
    const ofForm = formFaults(reference, form, place);
    faults.push(...ofForm);
    if (ofForm.length > 0) continue;
    // null and nothing are the same
    const key = JSON.stringify(form.key.map((member) => reference[member] ?? null));
    if (seen.has(key)) faults.push({ pointer: place, detail: TWICE });
    seen.add(key);
  }
  return faults;
}

function formFaults(
  reference: Record<string, unknown>,
  { ways: [byName, byId], checks }: Form,
  place: string,
): FieldError[] {
  const unknown = Object.keys(reference).find((member) => !checks.has(member));
  if (unknown !== undefined) {
    return [{ pointer: `${place}/${pointerToken(unknown)}`, detail: 'is not a member this body has' }];
  }
  const faults: FieldError[] = [];
  for (const [member, check] of checks) {
    const detail = check(reference[member]);
    if (detail !== null) faults.push({ pointer: `${place}/${member}`, detail });
  }
  const isNamed = (reference[byName] ?? null) !== null;
  const isGiven = (reference[byId] ?? null) !== null;
  if (isNamed === isGiven) faults.push({ pointer: place, detail: `must have either ${byName} or ${byId}` });
  return faults;
}

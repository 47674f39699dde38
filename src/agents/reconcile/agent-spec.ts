import { isJsonObject, pointerToken, toRawJson, unknownDetail } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { type Declared, faultsInSpec, isVersionName, VERSION_NAME_RULE } from '../../resources';
import { cardFaults } from '../agents/agent-card';
import { AgentSpecDto } from './agent-spec.dto';

/** The maximum number of references in all agents of an app, because a reconcile holds them in memory. */
const REFERENCES_MAX = 20_000;

/** The maximum number of faults that are reported per list. */
const FAULTS_MAX = 50;

export const REPEATED = 'repeats an earlier element';

type Check = (value: unknown) => string | null;

const isText: Check = (value) =>
  typeof value === 'string' && value.length >= 1 && value.length <= 255
    ? null
    : 'must be a string of 1 to 255 characters';

const isVersion: Check = (value) => (isVersionName(value) ? null : VERSION_NAME_RULE);

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null ? null : check(value);

/** The form of a reference. */
interface Form {
  /** Exactly one of these members must be present. */
  either: readonly [string, string];
  checks: ReadonlyMap<string, Check>;
  /** The members that identify the target. No two references may have the same target. */
  key: readonly string[];
}

const TOOL: Form = {
  either: ['server', 'server_id'],
  checks: new Map([
    ['server', optional(isText)],
    ['server_id', optional(isText)],
    ['tool_name', isText],
  ]),
  key: ['server', 'server_id', 'tool_name'],
};

const SKILL: Form = {
  either: ['skill', 'skill_id'],
  checks: new Map([
    ['skill', optional(isText)],
    ['skill_id', optional(isText)],
    ['version_ordinal', optional(isVersion)],
  ]),
  key: ['skill', 'skill_id'],
};

/** Returns the validation errors of a spec. */
export const specFaults = (spec: Record<string, unknown>, pointer: string): FieldError[] =>
  faultsInSpec(AgentSpecDto, spec, pointer, ({ tools, skills, card }) => [
    ...(card ? cardFaults(toRawJson(card), `${pointer}/card`) : []),
    ...faultsOf(tools ?? [], TOOL, `${pointer}/tools`),
    ...faultsOf(skills ?? [], SKILL, `${pointer}/skills`),
  ]);

/** Returns an error for the first agent at which the references of an app exceed their limit. */
export function combinedSpecFaults(declared: readonly Declared[]): FieldError[] {
  let count = 0;
  for (const { spec, pointer } of declared) {
    for (const member of ['tools', 'skills'] as const) {
      const references = spec[member];
      if (Array.isArray(references)) count += references.length;
      if (count <= REFERENCES_MAX) continue;
      const detail = `exceeds the limit of ${REFERENCES_MAX} tools and skills for all agents of an app`;
      return [{ pointer: `${pointer}/spec/${member}`, detail }];
    }
  }
  return [];
}

/** Checks references without class-validator, because an app may declare tens of thousands. */
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
    const ownFaults = formFaults(reference, form, place);
    faults.push(...ownFaults);
    if (ownFaults.length > 0) continue;
    // Null and absent mean the same.
    const key = JSON.stringify(form.key.map((member) => reference[member] ?? null));
    if (seen.has(key)) faults.push({ pointer: place, detail: REPEATED });
    seen.add(key);
  }
  return faults;
}

function formFaults(
  reference: Record<string, unknown>,
  { either: [byName, byId], checks }: Form,
  place: string,
): FieldError[] {
  const unknown = Object.keys(reference).find((member) => !checks.has(member));
  if (unknown !== undefined) {
    const detail = unknownDetail(unknown, checks.keys());
    return [{ pointer: `${place}/${pointerToken(unknown)}`, detail }];
  }
  const faults: FieldError[] = [];
  for (const [member, check] of checks) {
    const detail = check(reference[member]);
    if (detail !== null) faults.push({ pointer: `${place}/${member}`, detail });
  }
  const hasName = (reference[byName] ?? null) !== null;
  const hasId = (reference[byId] ?? null) !== null;
  if (hasName === hasId)
    faults.push({ pointer: place, detail: `must have exactly one of ${byName} and ${byId}` });
  return faults;
}

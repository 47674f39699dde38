import { Injectable } from '@nestjs/common';
import { yieldToEventLoop } from '#platform/concurrency';
import { pointerToken } from '#platform/http';
import { isJsonObject, type RawJson, toJsonText, toRawJson } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import { type Declared, DECLARED_KINDS, type DeclaredKind, ReconcileSteps } from '../../resources';

export const RESOURCES_MAX = 10_000;

/** The number of faults that one answer reports. */
const FAULTS_MAX = 50;
const NAME_MAX = 255;
/**
 * The number of declarations, at some milliseconds each, that are validated before other work on the event loop gets a
 * turn.
 */
const DECLARATIONS_PER_TICK = 20;

/** A declaration of valid form. */
interface Declaration {
  kind: DeclaredKind;
  name: string;
  spec: Record<string, unknown>;
}

/** The faults of declarations, with pointers into the app. */
export type Faults = (FieldError & { pointer: string })[];

/** Validates, stores and reads the declarations of apps. */
@Injectable()
export class AppDeclarations {
  constructor(private readonly steps: ReconcileSteps) {}

  /** Throws 400 for malformed declarations. Unknown kinds are left to `checkKinds`. */
  async check(resources: readonly unknown[]): Promise<void> {
    const faults = await this.faultsIn(resources);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /** Throws 422 for unknown kinds. */
  checkKinds(resources: readonly unknown[]): void {
    const unknown = (resources as readonly Declaration[]).flatMap(({ kind }, index) =>
      isKind(kind) ? [] : [{ pointer: `/resources/${index}/kind`, detail: `must be one of ${KINDS}` }],
    );
    if (unknown.length > 0) throw problem.validationFailed(unknown);
  }

  /** Returns declarations for storage, with specs as they were sent. */
  stored(resources: readonly unknown[]): RawJson {
    return toRawJson(
      (resources as readonly Declaration[]).map(({ kind, name, spec }) => ({ kind, name, spec })),
    );
  }

  /** Reads stored declarations by kind. Kinds that no longer exist are left out. */
  async read(stored: RawJson): Promise<{ declared: Map<DeclaredKind, Declared[]>; faults: Faults }> {
    const resources = stored.parse() as Declaration[];
    return { declared: byKind(resources), faults: await this.faultsIn(resources) };
  }

  /** Returns the names whose declarations changed or disappeared, by kind. */
  changed(before: RawJson, after: readonly unknown[]): Map<DeclaredKind, string[]> {
    const present = new Map((after as Declaration[]).map((one) => [keyOf(one), toJsonText(one.spec)]));
    const changed = new Map<DeclaredKind, string[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    for (const one of before.parse() as Declaration[]) {
      if (present.get(keyOf(one)) !== toJsonText(one.spec)) changed.get(one.kind)?.push(one.name);
    }
    return changed;
  }

  /** Returns the names of the declarations at fault, by kind. */
  faulty(stored: RawJson, faults: readonly { pointer: string }[]): Map<DeclaredKind, string[]> {
    const resources = stored.parse() as Declaration[];
    const faulty = new Map<DeclaredKind, string[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    for (const index of new Set(faults.map(({ pointer }) => Number(pointer.split('/')[2])))) {
      const one = resources[index];
      if (one) faulty.get(one.kind)?.push(one.name);
    }
    return faulty;
  }

  private async faultsIn(resources: readonly unknown[]): Promise<Faults> {
    const faults: Faults = [];
    const keys = new Set<string>();
    for (const [index, one] of resources.entries()) {
      if (faults.length >= FAULTS_MAX) break;
      if (index % DECLARATIONS_PER_TICK === DECLARATIONS_PER_TICK - 1) await yieldToEventLoop();
      const pointer = `/resources/${index}`;
      const ofForm = formFaults(one, pointer);
      faults.push(...ofForm);
      if (ofForm.length > 0) continue;
      const declaration = one as Declaration;
      const key = keyOf(declaration);
      if (keys.has(key)) {
        faults.push({ pointer: `${pointer}/name`, detail: 'is already declared with this kind' });
      }
      keys.add(key);
      if (isKind(declaration.kind)) faults.push(...this.specFaults(declaration, `${pointer}/spec`));
    }
    if (faults.length === 0) faults.push(...this.faultsAmong(resources as readonly Declaration[]));
    return faults.slice(0, FAULTS_MAX);
  }

  private faultsAmong(resources: readonly Declaration[]): Faults {
    return [...byKind(resources)].flatMap(([kind, declared]) =>
      this.steps.of(kind).faultsAmong(declared),
    ) as Faults;
  }

  private specFaults({ kind, name, spec }: Declaration, pointer: string): Faults {
    return this.steps.of(kind).faultsIn(name, spec, pointer) as Faults;
  }
}

const KINDS = DECLARED_KINDS.join(', ');

const isKind = (kind: unknown): kind is DeclaredKind => (DECLARED_KINDS as readonly unknown[]).includes(kind);

const keyOf = ({ kind, name }: Declaration): string => `${kind}/${name}`;

function byKind(resources: readonly Declaration[]): Map<DeclaredKind, Declared[]> {
  const declared = new Map<DeclaredKind, Declared[]>(DECLARED_KINDS.map((kind) => [kind, []]));
  for (const [index, { kind, name, spec }] of resources.entries()) {
    declared.get(kind)?.push({ name, spec, pointer: `/resources/${index}` });
  }
  return declared;
}

function formFaults(declaration: unknown, pointer: string): Faults {
  if (!isJsonObject(declaration)) return [{ pointer, detail: 'must be an object' }];
  const { kind, name, spec, ...others } = declaration;
  const faults: Faults = [];
  if (typeof kind !== 'string') faults.push({ pointer: `${pointer}/kind`, detail: 'must be a string' });
  if (typeof name !== 'string' || !isName(name)) {
    const detail = `must be a string of 1 to ${NAME_MAX} characters, without control characters`;
    faults.push({ pointer: `${pointer}/name`, detail });
  }
  if (!isJsonObject(spec)) faults.push({ pointer: `${pointer}/spec`, detail: 'must be an object' });
  for (const member of Object.keys(others).slice(0, 1)) {
    faults.push({
      pointer: `${pointer}/${pointerToken(member)}`,
      detail: 'is not a member of a declaration. Use kind, name and spec',
    });
  }
  return faults;
}

/** Counts characters rather than UTF-16 units, like the names of resources. */
const isName = (name: string): boolean =>
  name !== '' && name.length <= 2 * NAME_MAX && [...name].length <= NAME_MAX && !/\p{Cc}/u.test(name);

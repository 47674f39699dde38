import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { pointerToken } from '#platform/http';
import { isJsonObject, type RawJson, toJsonText, toRawJson } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import { type Declared, DECLARED_KINDS, type DeclaredKind } from './reconcile-step';
import { ReconcileSteps } from './reconcile-steps';

export const RESOURCES_MAX = 10_000;

/** More faults than anybody mends at once. */
const FAULTS_MAX = 50;
const NAME_MAX = 255;
/** Declarations that are checked before others get their turn: each of them may take some milliseconds. */
const TURN = 20;

/** A resource that an app declares, of the right form. */
interface Declaration {
  kind: DeclaredKind;
  name: string;
  spec: Record<string, unknown>;
}

/** What is wrong with declarations: pointers into the app. */
export type Faults = (FieldError & { pointer: string })[];

/** What an app declares: its form, as each kind has it. */
@Injectable()
export class AppDeclarations {
  constructor(private readonly steps: ReconcileSteps) {}

  /** 400 for declarations that are not of the right form. Those of an unknown kind are left to `checkKinds`. */
  async check(resources: readonly unknown[]): Promise<void> {
    const faults = await this.faultsIn(resources);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /** 422 for kinds that there are not. */
  checkKinds(resources: readonly unknown[]): void {
    const unknown = (resources as readonly Declaration[]).flatMap(({ kind }, index) =>
      isKind(kind) ? [] : [{ pointer: `/resources/${index}/kind`, detail: `must be one of ${KINDS}` }],
    );
    if (unknown.length > 0) throw problem.validationFailed(unknown);
  }

  /** As they are stored: specs as they were sent, and nothing that a declaration does not have. */
  stored(resources: readonly unknown[]): RawJson {
    return toRawJson(
      (resources as readonly Declaration[]).map(({ kind, name, spec }) => ({ kind, name, spec })),
    );
  }

  /** Stored ones, by kind. Of a kind that there is no more, there are none. */
  async read(stored: RawJson): Promise<{ declared: Map<DeclaredKind, Declared[]>; faults: Faults }> {
    const resources = stored.parse() as Declaration[];
    return { declared: byKind(resources), faults: await this.faultsIn(resources) };
  }

  /** The names of what is declared otherwise than before, or no more, by kind. */
  changed(before: RawJson, after: readonly unknown[]): Map<DeclaredKind, string[]> {
    const present = new Map((after as Declaration[]).map((one) => [keyOf(one), toJsonText(one.spec)]));
    const changed = new Map<DeclaredKind, string[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    for (const one of before.parse() as Declaration[]) {
      if (present.get(keyOf(one)) !== toJsonText(one.spec)) changed.get(one.kind)?.push(one.name);
    }
    return changed;
  }

  /** The names of the declarations that faults point at, by kind. */
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
      if (index % TURN === TURN - 1) await turn();
      const pointer = `/resources/${index}`;
      const ofForm = formFaults(one, pointer);
      faults.push(...ofForm);
      if (ofForm.length > 0) continue;
      const declaration = one as Declaration;
      const key = keyOf(declaration);
      if (keys.has(key)) {
        faults.push({ pointer: `${pointer}/name`, detail: 'is declared before, with the same kind' });
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
    faults.push({ pointer: `${pointer}/${pointerToken(member)}`, detail: 'is no member of a declaration' });
  }
  return faults;
}

/** In characters, as those of what is made of it. */
const isName = (name: string): boolean =>
  name !== '' && name.length <= 2 * NAME_MAX && [...name].length <= NAME_MAX && !/\p{Cc}/u.test(name);

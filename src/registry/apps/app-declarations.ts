import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { TimeSlice } from '#platform/concurrency';
import { typedMembers } from '#platform/http';
import {
  isJsonObject,
  isObjectValue,
  JsonInputError,
  pointerToken,
  RawJson,
  toRawJson,
} from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import {
  type Declared,
  DECLARED_KINDS,
  type DeclaredKind,
  holdsAny,
  ReconcileSteps,
  requireRole,
} from '../../resources';

export const RESOURCES_MAX = 10_000;

/** The number of faults that one problem reports. */
const FAULTS_MAX = 50;
const NAME_MAX = 255;

/** A well-formed declaration, with its spec as sent. */
interface Declaration {
  kind: DeclaredKind;
  name: string;
  spec: object;
}

/** Faults of declarations, with JSON Pointers into the app. */
export type Faults = (FieldError & { pointer: string })[];

/** Validates, stores and reads the declarations of apps. */
@Injectable()
export class AppDeclarations {
  constructor(private readonly steps: ReconcileSteps) {}

  /** Throws 400 for malformed declarations. `checkKinds` checks for unknown kinds. */
  async check(resources: readonly unknown[]): Promise<void> {
    const { faults } = await this.validate(resources);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /** Throws 422 for unknown kinds. */
  checkKinds(resources: readonly unknown[]): void {
    const unknown = (resources as readonly Declaration[]).flatMap(({ kind }, index) =>
      isKind(kind) ? [] : [{ pointer: `/resources/${index}/kind`, detail: `must be one of ${KINDS}` }],
    );
    if (unknown.length > 0) throw problem.validationFailed(unknown);
  }

  /**
   * Throws 403 if a declaration changed whose kind the caller may not declare.
   *
   * @param before the stored declarations, or null for a new app
   */
  checkMayDeclare(
    scope: OrgScope,
    workspaceId: string,
    before: RawJson | null,
    after: readonly unknown[],
  ): void {
    for (const kind of DECLARED_KINDS) {
      const { declarers } = this.steps.of(kind);
      if (holdsAny(scope, workspaceId, declarers)) continue;
      const isStored = before?.text.includes(`"kind":"${kind}"`) === true;
      const stored = isStored ? textsOf(kind, listOf(before)) : [];
      const sent = textsOf(kind, after as readonly Declaration[]);
      if (!isDeepStrictEqual(sent, stored)) requireRole(scope, workspaceId, declarers);
    }
  }

  /** Returns declarations for storage, with specs as sent. */
  toStored(resources: readonly unknown[]): RawJson {
    return toRawJson(
      (resources as readonly Declaration[]).map(({ kind, name, spec }) => ({ kind, name, spec })),
    );
  }

  /** Reads stored declarations by kind. Leaves out kinds that no longer exist. */
  async read(stored: RawJson): Promise<{ declared: ReadonlyMap<DeclaredKind, Declared[]>; faults: Faults }> {
    return this.validate(listOf(stored));
  }

  /** Returns the names whose declarations changed or disappeared, by kind. */
  changedNames(before: RawJson, after: readonly unknown[]): Map<DeclaredKind, string[]> {
    const specs = new Map((after as Declaration[]).map((one) => [keyOf(one), toRawJson(one.spec).text]));
    const changed = new Map<DeclaredKind, string[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    for (const one of listOf(before)) {
      if (specs.get(keyOf(one)) !== toRawJson(one.spec).text) changed.get(one.kind)?.push(one.name);
    }
    return changed;
  }

  /** Returns the names of the declarations that have faults, by kind. */
  faultyNames(stored: RawJson, faults: readonly { pointer: string }[]): Map<DeclaredKind, string[]> {
    const resources = listOf(stored);
    const faulty = new Map<DeclaredKind, string[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    for (const index of new Set(faults.map(({ pointer }) => Number(pointer.split('/')[2])))) {
      const one = resources[index];
      if (one) faulty.get(one.kind)?.push(one.name);
    }
    return faulty;
  }

  /** Returns the faults of declarations, or their specs by kind if there are no faults. */
  private async validate(
    resources: readonly unknown[],
  ): Promise<{ declared: ReadonlyMap<DeclaredKind, Declared[]>; faults: Faults }> {
    const declared = new Map<DeclaredKind, Declared[]>(DECLARED_KINDS.map((kind) => [kind, []]));
    const faults: Faults = [];
    const keys = new Set<string>();
    const slice = new TimeSlice();
    for (const [index, one] of resources.entries()) {
      if (faults.length >= FAULTS_MAX) break;
      if (slice.isOver()) await slice.yield();
      const pointer = `/resources/${index}`;
      const malformed = formFaults(one, pointer);
      faults.push(...malformed);
      if (malformed.length > 0) continue;
      const declaration = one as Declaration;
      const { kind, name } = declaration;
      const key = keyOf(declaration);
      if (keys.has(key)) {
        faults.push({
          pointer: `${pointer}/name`,
          detail: 'repeats the name of an earlier declaration of this kind',
        });
      }
      keys.add(key);
      if (!isKind(kind)) continue;
      const spec = this.specOf(declaration);
      if (spec instanceof JsonInputError) {
        faults.push({ pointer: `${pointer}/spec${spec.pointer}`, detail: spec.detail });
        continue;
      }
      faults.push(...(this.steps.of(kind).faultsIn(name, spec, `${pointer}/spec`) as Faults));
      declared.get(kind)!.push({ name, spec, pointer });
    }
    if (faults.length === 0) faults.push(...this.combinedFaults(declared));
    return { declared, faults: faults.slice(0, FAULTS_MAX) };
  }

  /** Returns the spec with the values of its DTO, or the error for a value that a member of the DTO cannot hold. */
  private specOf({ kind, spec }: Declaration): Record<string, unknown> | JsonInputError {
    try {
      return typedMembers(this.steps.of(kind).specType, spec as Record<string, unknown>);
    } catch (error) {
      if (error instanceof JsonInputError) return error;
      throw error;
    }
  }

  private combinedFaults(declared: ReadonlyMap<DeclaredKind, Declared[]>): Faults {
    return [...declared].flatMap(([kind, ofKind]) => this.steps.of(kind).combinedFaults(ofKind)) as Faults;
  }
}

const listOf = (stored: RawJson): Declaration[] => stored.parseExactly() as Declaration[];

const KINDS = DECLARED_KINDS.join(', ');

const isKind = (kind: unknown): kind is DeclaredKind => (DECLARED_KINDS as readonly unknown[]).includes(kind);

/** Returns the declarations of one kind as sorted texts. */
const textsOf = (kind: DeclaredKind, declarations: readonly Declaration[]): string[] =>
  declarations
    .filter((one) => one.kind === kind)
    .map(({ name, spec }) => toRawJson([name, spec]).text)
    .sort();

const keyOf = ({ kind, name }: Declaration): string => `${kind}/${name}`;

function formFaults(declaration: unknown, pointer: string): Faults {
  if (!isJsonObject(declaration)) return [{ pointer, detail: 'must be an object' }];
  const { kind, name, spec, ...others } = declaration;
  const faults: Faults = [];
  if (typeof kind !== 'string') faults.push({ pointer: `${pointer}/kind`, detail: 'must be a string' });
  if (typeof name !== 'string' || !isName(name)) {
    const detail = `must be a string of 1 to ${NAME_MAX} characters without control characters`;
    faults.push({ pointer: `${pointer}/name`, detail });
  }
  if (!isObjectValue(spec)) faults.push({ pointer: `${pointer}/spec`, detail: 'must be an object' });
  for (const member of Object.keys(others).slice(0, 1)) {
    faults.push({
      pointer: `${pointer}/${pointerToken(member)}`,
      detail: 'is not a member of a declaration. Use kind, name and spec',
    });
  }
  return faults;
}

/** Counts characters rather than UTF-16 units, as the names of resources do. */
const isName = (name: string): boolean =>
  name !== '' && name.length <= 2 * NAME_MAX && [...name].length <= NAME_MAX && !/\p{Cc}/u.test(name);

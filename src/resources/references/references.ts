import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';

/** Something that needs a resource: a frozen experiment its dataset, an agent version a skill, an open run a trace. */
export interface Reference {
  /** What it is, as problem details name it: `experiment`, `version 3 of the agent`. */
  noun: string;
  id: string;
  /** Whether it is deleted together with the resource, so that no reference is left. */
  isDeletedToo?: boolean;
}

/** Finds what refers to resources. The area that stores the references provides it, and adds it to `References`. */
export interface ReferenceSource {
  /** The nouns of the resources that it knows references to, as in `ResourceKind`: `dataset`, `skill`, `trace`. */
  readonly nouns: readonly string[];

  /**
   * Finds references to a resource, at most `limit`. Only those that the resource must outlive: live or frozen ones, not
   * those of archived resources.
   *
   * @param version the number of the version, for a noun such as `skill version`. `id` is that of the resource
   */
  find(
    tx: Tx,
    scope: OrgScope,
    noun: string,
    id: string,
    limit: number,
    version?: number,
  ): Promise<Reference[]>;

  /** Marks the references that a deleted resource leaves behind. For references whose mark is stored. */
  markErased?(tx: Tx, scope: OrgScope, noun: string, id: string): Promise<void>;
}

/** The most references that a problem detail names. */
const NAMED_MAX = 5;

/** Knows what refers to resources, so that a resource in use is not deleted by mistake. */
@Injectable()
export class References {
  private readonly sources: ReferenceSource[] = [];

  /** Adds a source. Each source calls this in its constructor. */
  add(source: ReferenceSource): void {
    this.sources.push(source);
  }

  /** Throws 409 naming what refers to a resource. @param version see `ReferenceSource.find` */
  async checkUnused(tx: Tx, scope: OrgScope, noun: string, id: string, version?: number): Promise<void> {
    const found: Reference[] = [];
    for (const source of this.of(noun)) {
      found.push(...(await source.find(tx, scope, noun, id, NAMED_MAX + 1 - found.length, version)));
      if (found.length > NAMED_MAX) break;
    }
    if (found.length === 0) return;
    const named = found.slice(0, NAMED_MAX).map((one) => `${one.noun} ${one.id}`);
    const others = found.length > NAMED_MAX ? ' and others' : '';
    const owned = found.find((one) => one.isDeletedToo);
    throw problem.conflict(
      [
        `The ${noun} is used by ${named.join(', ')}${others}. Archive, change or end these first, or send \`force=true\` to delete it anyway.`,
        ...(owned ? [`Each ${owned.noun} is then deleted too.`] : []),
        ...(found.some((one) => !one.isDeletedToo) ? ['References to it are then marked as erased.'] : []),
      ].join(' '),
    );
  }

  /** Marks the references that a deleted resource leaves behind. */
  async markErased(tx: Tx, scope: OrgScope, noun: string, id: string): Promise<void> {
    for (const source of this.of(noun)) await source.markErased?.(tx, scope, noun, id);
  }

  private of(noun: string): ReferenceSource[] {
    return this.sources.filter(({ nouns }) => nouns.includes(noun));
  }
}

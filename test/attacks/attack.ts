import type { Attacker } from './attacker';

/** The size of an attack: connections, requests, bytes, milliseconds. */
export type Sizes = Readonly<Record<string, number>>;

/** An attack on a running service by one organization, or by somebody without credentials. */
export interface Attack<Of extends Sizes = Sizes> {
  /** The name in the benchmark, such as `unread-documents`. */
  readonly name: string;
  /** Its title at the end of the name of its test, such as "pages of large records that nobody reads". */
  readonly title: string;
  /** The sizes in `npm run test:heavy` (`test`) and in the benchmark. */
  readonly sizes: Readonly<Record<'test' | 'bench', Of>>;
  /** Runs the attack. Resolves when its requests have responses or its connections are closed. */
  run(attacker: Attacker, sizes: Of): Promise<void>;
  /** A request of another organization that must succeed during the attack, in addition to its reads. */
  readonly other?: (other: Attacker) => Promise<unknown>;
}

/** Defines an attack, and infers the names of its sizes. */
export const attack = <Of extends Sizes>(definition: Attack<Of>): Attack => definition as unknown as Attack;

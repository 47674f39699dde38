import type { Attacker } from './attacker';

/** How much of an attack: connections, requests, bytes, milliseconds. */
export type Sizes = Readonly<Record<string, number>>;

/** What one organization, or somebody without credentials, does to a running service. */
export interface Attack<Of extends Sizes = Sizes> {
  /** As the benchmark prints it, such as `unread-documents`. */
  readonly name: string;
  /** What a test of it says, such as "pipelined requests whose answers nobody reads". */
  readonly title: string;
  /** In `npm test`, in the benchmark, and in `npm run test:heavy`. */
  readonly sizes: Readonly<Record<'usual' | 'bench' | 'heavy', Of>>;
  /** Runs the attack. Resolves when its requests are answered, or its connections closed. */
  run(attacker: Attacker, sizes: Of): Promise<void>;
  /** A request of another organization that must succeed meanwhile, besides its reads. */
  readonly other?: (other: Attacker) => Promise<unknown>;
}

/** Gives an attack its type, and so its sizes their names. */
export const attack = <Of extends Sizes>(definition: Attack<Of>): Attack => definition as unknown as Attack;

/** The attacker's process, so that its work does not delay what is measured. Runs the attacks that it is sent. */
import type { Sizes } from './attack';
import { Attacker, type Tally, type Target } from './attacker';
import { ATTACKS } from './catalogue';

export interface AttackOrder {
  name: string;
  sizes: Sizes;
  target: Target;
}

export interface AttackOutcome {
  answers: Tally;
  /** Why the attack could not be prepared or run. */
  error?: string;
}

process.on('message', ({ name, sizes, target }: AttackOrder) => {
  const attacker = new Attacker(target);
  const found = ATTACKS.find((one) => one.name === name);
  const done = found ? found.run(attacker, sizes) : Promise.reject(new Error(`There is no attack ${name}.`));
  const answer = (outcome: AttackOutcome): void => void process.send!(outcome);
  const { answers } = attacker;
  done.then(
    () => answer({ answers }),
    (error: unknown) => answer({ answers, error: (error as Error).message }),
  );
});
process.once('disconnect', () => process.exit());

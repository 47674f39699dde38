/** The attacker's process, separate so that its work does not delay the measurements. Runs the attacks sent to it. */
import type { Sizes } from './attack';
import { Attacker, type Tally, type Target } from './attacker';
import { ATTACKS } from './catalogue';

export interface AttackCommand {
  name: string;
  sizes: Sizes;
  target: Target;
}

export interface AttackOutcome {
  responses: Tally;
  /** Why the attack could not be prepared or run. */
  error?: string;
}

process.on('message', ({ name, sizes, target }: AttackCommand) => {
  const attacker = new Attacker(target);
  const attack = ATTACKS.find((one) => one.name === name);
  const done = attack ? attack.run(attacker, sizes) : Promise.reject(new Error(`Unknown attack ${name}.`));
  const report = (outcome: AttackOutcome): void => void process.send!(outcome);
  const { responses } = attacker;
  done.then(
    () => report({ responses }),
    (error: unknown) => report({ responses, error: (error as Error).message }),
  );
});
process.once('disconnect', () => process.exit());

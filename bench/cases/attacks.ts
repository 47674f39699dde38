import { AttackedService, type AttackReport } from '../../test/attacks/attacked-service';
import { ATTACKS } from '../../test/attacks/catalogue';

const MIB = 1024 * 1024;
const WIDTHS = [20, 8, 8, 7, 8, 8, 9];
const COLUMNS = ['attack', 'loop ms', 'RSS MiB', 'p99 ms', 'worst ms', 'work ms', 'health ms', 'failures'];

/**
 * Attacks the service, and prints the effect on others: the worst event-loop delay, the largest resident memory, the p99
 * and worst latency of another organization's reads, the worst time of that organization's work if the attack competes
 * with it, the worst latency of `/health/ready`, and the failures. Each attack gets a new service in its default
 * configuration.
 *
 * `BENCH_DIST` names the build to attack (default: this one), and `BENCH_ATTACKS` the attacks, separated by commas
 * (default: all).
 */
export async function attacks(): Promise<void> {
  const names = process.env.BENCH_ATTACKS?.split(',');
  print(COLUMNS);
  for (const attack of ATTACKS) {
    if (names && !names.includes(attack.name)) continue;
    const service = await AttackedService.start({ dist: process.env.BENCH_DIST });
    try {
      print([attack.name, ...cellsOf(await service.runAttack(attack, attack.sizes.bench))]);
    } catch (error) {
      print([attack.name, String(error)]);
    } finally {
      await service.stop();
    }
  }
}

function cellsOf({ loopDelay, memory, other, otherWork, health, ended, responses }: AttackReport): string[] {
  const failures = [
    ...(ended === null ? [] : [`process ended: ${ended}`]),
    ...(health.failures.length > 0 ? [`health: ${health.failures.join(' ')}`] : []),
    ...(other.failures.length > 0 ? [`other: ${other.failures.join(' ')}`] : []),
  ];
  const counts = Object.entries(responses).map(([label, count]) => `${count} × ${label}`);
  return [
    ...[loopDelay, memory / MIB, other.p99, other.worst, otherWork, health.worst].map((value) =>
      value.toFixed(0),
    ),
    `${failures.join('; ') || 'none'} (attacker: ${counts.join(', ') || 'no responses'})`,
  ];
}

function print(cells: string[]): void {
  const line = cells.map((cell, n) => (n === 0 ? cell.padEnd(WIDTHS[0]!) : cell.padStart(WIDTHS[n] ?? 0)));
  process.stdout.write(`${line.join('  ')}\n`);
}

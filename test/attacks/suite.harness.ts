import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '#testing';
import type { Attack } from './attack';
import { AttackedService, type AttackReport } from './attacked-service';
import { isUndocumented } from './attacker';

const MIB = 1024 * 1024;
const HEAP_MIB = 1024;
/** The default of the memory budget: about a quarter of the heap limit. */
const BUDGET_MIB = HEAP_MIB / 4;
/** Maximum time of a test, in milliseconds. */
const TIMEOUT_MS = 180_000;
/** Resident memory of the process in addition to its budget. */
const BASE_MIB = 512;

/** A small heap, so that an attack that exceeds its budget is noticed early. */
export const SMALL_HEAP = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` };

/** A service for the tests of a file. It is restarted after an attack that harmed it, or whose memory it keeps. */
export class SuiteService {
  private database: TestDatabase | undefined;
  private service: AttackedService | undefined;

  async get(): Promise<AttackedService> {
    if (this.service?.isRunning && (await isSettled(this.service))) return this.service;
    await this.close();
    this.database = await createTestDatabase();
    const { url: databaseUrl } = this.database;
    this.service = await AttackedService.start({ databaseUrl, env: SMALL_HEAP });
    return this.service;
  }

  /** Runs an attack, and expects that it harmed nobody. */
  async expectNoHarm(attack: (service: AttackedService) => Promise<AttackReport>): Promise<AttackReport> {
    const report = await attack(await this.get());
    try {
      expectUnharmed(report);
      return report;
    } catch (error) {
      await this.close(); // so that the next attack starts with a service whose memory has not grown
      throw error;
    }
  }

  get databaseUrl(): string {
    return this.database!.url;
  }

  async close(): Promise<void> {
    await this.service?.stop();
    await this.database?.drop();
    this.service = undefined;
    this.database = undefined;
  }
}

/** Tests attacks in full size: the service keeps working for another organization and the operator. */
export function itWithstands(suite: SuiteService, attacks: readonly Attack[]): void {
  it.each(attacks.map((attack) => [attack.title, attack] as const))(
    'does not affect others, and keeps memory within its budget: %s',
    async (_, attack) => {
      await suite.expectNoHarm((service) => service.runAttack(attack, attack.sizes.test));
    },
    TIMEOUT_MS,
  );
}

/** Tells whether the memory of the last attack is free, or is so after a moment. Threads keep theirs until they end. */
async function isSettled({ service }: AttackedService): Promise<boolean> {
  for (let tries = 0; tries < 10; tries++) {
    if ((await service.memory()) < BASE_MIB * MIB) return true;
    await delay(100);
  }
  return false;
}

/** Expects that the process runs, others are served, memory is within its budget, and all responses are documented. */
function expectUnharmed({ ended, health, other, responses, memory }: AttackReport): void {
  const harm = { ended, health: health.failures, other: other.failures };
  expect(harm).toEqual({ ended: null, health: [], other: [] });
  expect(Object.keys(responses).filter(isUndocumented)).toEqual([]);
  expect(Math.round(memory / MIB)).toBeLessThan(BASE_MIB + BUDGET_MIB);
}

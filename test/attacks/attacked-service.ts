import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import { StandaloneService, TestIssuer } from '#testing';
import type { Attack, Sizes } from './attack';
import { Attacker, type Tally, type Target } from './attacker';
import type { AttackCommand, AttackOutcome } from './attacker.child';
import { type Observation, Probe } from './probe';

const SAMPLE_MS = 50;
/** Time between two requests of {@link Attack.other}, in milliseconds. */
const OTHER_PAUSE_MS = 500;
/** A process that uses more bytes is killed, to protect the machine. */
const MEMORY_MAX = 6 * 1024 ** 3;
const ROLES = ['owner', 'evaluator', 'runtime'];

/** The effects of an attack on the service and on another organization. */
export interface AttackReport {
  /** The responses to the attacker. */
  responses: Tally;
  health: Observation;
  /** Reads of another organization, and the failures of {@link Attack.other}. */
  other: Observation;
  /** The longest call of {@link Attack.other}, in milliseconds. */
  otherWork: number;
  /** Largest resident memory of the process, in bytes. */
  memory: number;
  /** Worst event-loop delay, in milliseconds. */
  loopDelay: number;
  /** How the process ended; null while it runs. */
  ended: string | null;
}

export interface AttackedOptions {
  /** Environment variables of the service. */
  env?: Record<string, string>;
  databaseUrl?: string;
  /** Directory of the build to attack. */
  dist?: string;
}

/** The service as `npm start` runs it, with an attacker and another organization. */
export class AttackedService {
  private loopDelay = 0;
  /** Why the process was killed. */
  private killed: string | null = null;

  private constructor(
    readonly service: StandaloneService,
    readonly attacker: Target,
    private readonly other: Target,
    private readonly onLoopDelay: { listener: (ms: number) => void },
  ) {
    this.onLoopDelay.listener = (ms) => (this.loopDelay = Math.max(this.loopDelay, ms));
  }

  static async start({ env = {}, ...options }: AttackedOptions = {}): Promise<AttackedService> {
    const issuer = await TestIssuer.create();
    const loopDelay = { listener: (_ms: number): void => undefined };
    const service = await StandaloneService.start({
      ...options,
      // the attacker's model providers listen on loopback
      env: {
        LOG_LEVEL: 'info',
        OUTBOUND_ALLOW: '127.0.0.0/8',
        ...env,
        AUTH_ISSUERS: JSON.stringify([issuer.entry()]),
      },
      preload: path.join(__dirname, 'loop-delay.child.js'),
      onMessage: (ms) => loopDelay.listener(ms as number),
    });
    try {
      const { port } = new URL(service.bootstrap.base_url);
      const address = { host: '127.0.0.1', port: Number(port) };
      const [attacker, other] = [
        await newOrganizationAt(address, issuer),
        await newOrganizationAt(address, issuer),
      ];
      return new AttackedService(service, attacker, other, loopDelay);
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  get isRunning(): boolean {
    return this.service.isRunning;
  }

  /**
   * Runs an attack, and observes the service.
   *
   * @throws Error if the attack cannot be prepared
   */
  async runAttack(attack: Attack, sizes: Sizes): Promise<AttackReport> {
    const command: AttackCommand = { name: attack.name, sizes, target: this.attacker };
    const otherFailures = new Set<string>();
    let otherWork = 0;
    let isOver = false;
    const others = async (): Promise<void> => {
      if (!attack.other) return;
      const caller = new Attacker(this.other);
      do {
        const startedAt = performance.now();
        await attack.other(caller).catch((error: unknown) => otherFailures.add(String(error)));
        otherWork = Math.max(otherWork, performance.now() - startedAt);
        await delay(OTHER_PAUSE_MS);
      } while (!isOver && this.isRunning);
      for (const label of Object.keys(caller.responses)) if (!label.startsWith('2')) otherFailures.add(label);
    };
    const report = await this.observe(async () => {
      const othersDone = others();
      const process = fork(path.join(__dirname, 'attacker.child.js'));
      try {
        return await runIn(process, command, this.service.ended);
      } finally {
        isOver = true;
        process.kill('SIGKILL');
        await othersDone;
      }
    });
    return {
      ...report,
      otherWork,
      other: { ...report.other, failures: [...report.other.failures, ...otherFailures] },
    };
  }

  /** Observes the service while `run` attacks it. */
  async observe(run: () => Promise<Tally>): Promise<AttackReport> {
    const health = new Probe(`${this.url}/health/ready`, {});
    const { headers } = new Attacker(this.other);
    const reads = new Probe(`${this.url}/eval/v1/datasets?limit=20`, headers);
    this.loopDelay = 0;
    let memory = 0;
    let isOver = false;
    const sample = async (): Promise<void> => {
      while (!isOver && this.isRunning) {
        memory = Math.max(memory, await this.service.memory());
        if (memory > MEMORY_MAX) {
          this.killed = 'killed at 6 GiB';
          this.service.kill();
        }
        await delay(SAMPLE_MS);
      }
    };
    health.start();
    reads.start();
    const sampling = sample();
    const outcome = await run().then(
      (responses) => ({ responses }),
      (error: unknown) => ({ error, responses: {} }),
    );
    const [ofHealth, ofOther] = await Promise.all([health.stop(), reads.stop()]);
    isOver = true;
    await sampling;
    if ('error' in outcome && this.isRunning) throw outcome.error;
    const ended = this.isRunning ? null : (this.killed ?? (await this.service.ended));
    const { loopDelay } = this;
    return {
      otherWork: 0,
      responses: outcome.responses,
      health: ofHealth,
      other: ofOther,
      memory,
      loopDelay,
      ended,
    };
  }

  stop(): Promise<void> {
    return this.service.stop();
  }

  private get url(): string {
    return `http://${this.attacker.host}:${this.attacker.port}`;
  }
}

/** Runs an attack in the attacker's process. Returns the responses, or none if the service ends first. */
async function runIn(process: ChildProcess, command: AttackCommand, ended: Promise<unknown>): Promise<Tally> {
  const finished = once(process, 'message') as Promise<[AttackOutcome]>;
  process.send(command);
  const first = await Promise.race([finished, ended.then(() => null)]);
  if (!first) return {};
  const [{ responses, error }] = first;
  if (error !== undefined) throw new Error(`${command.name}: ${error}`);
  return responses;
}

/** Creates an organization with one workspace and an owner. Returns the owner. */
async function newOrganizationAt(
  address: Pick<Target, 'host' | 'port'>,
  issuer: TestIssuer,
): Promise<Target> {
  const claims = { sub: 'operator', principal_type: 'platform' };
  const platform = new Attacker({ ...address, token: await issuer.issueToken(claims), workspaceId: '' });
  const { org_id } = await platform.prepare('POST', '/registry/v1/orgs', { name: 'organization' });
  const userId = newId('usr');
  const token = await issuer.issueToken({ sub: userId, user_id: userId, org_id, roles: ROLES });
  const owner = new Attacker({ ...address, token, workspaceId: '' });
  const { workspace_id } = await owner.prepare('POST', '/registry/v1/workspaces', { name: 'main' });
  return { ...address, token, workspaceId: workspace_id };
}

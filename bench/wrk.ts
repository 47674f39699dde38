import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const WARM_UP_SECONDS = 2;

const run = promisify(execFile);

/** The measurements of wrk (Debian's package). */
export interface Load {
  perSecond: number;
  /** Latencies in milliseconds. */
  p50: number;
  p99: number;
}

export interface LoadOptions {
  connections: number;
  seconds: number;
  headers: Record<string, string>;
  /** A Lua script that sets the requests, for example their body. */
  script?: string;
}

/** Loads a URL as `load` does, after two unmeasured seconds, because V8 drops the code of an idle process. */
export async function loadWarm(url: string, options: LoadOptions): Promise<Load> {
  await load(url, { ...options, seconds: WARM_UP_SECONDS });
  return load(url, options);
}

/** Loads a URL with wrk. Throws if wrk is missing or any response is an error. */
export async function load(
  url: string,
  { connections, seconds, headers, script }: LoadOptions,
): Promise<Load> {
  const headerOptions = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const scriptOptions = script === undefined ? [] : ['-s', script];
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '--timeout',
    '10s',
    ...scriptOptions,
    ...headerOptions,
    url,
  ];
  const { stdout } = await run('wrk', args).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Error('wrk is not installed: apt-get install wrk');
    throw error;
  });
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk reported errors for ${url}:\n${stdout}`);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50: milliseconds(stdout, '50%'),
    p99: milliseconds(stdout, '99%'),
  };
}

const UNITS: Record<string, number> = { us: 0.001, ms: 1, s: 1000 };

function milliseconds(output: string, percentile: string): number {
  const [, value, unit] = new RegExp(`${percentile}\\s+([\\d.]+)(us|ms|s)`).exec(output) ?? [];
  return Number(value) * UNITS[unit ?? 'ms']!;
}

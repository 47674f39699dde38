import { type LookupAddress, promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { FairLimiter } from '#platform/concurrency';

/** How long the name servers of a name may take. */
const RESOLVE_MS = 4_000;
/** How long a local name waits for its turn. */
const LOCAL_WAIT_MS = 10_000;

/** Returns the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The differences to the system's own settings. */
export interface ResolverOptions {
  /** Name servers, instead of those of `/etc/resolv.conf`. */
  servers?: readonly string[];
  hostsFile?: string;
}

/**
 * Returns a function that resolves names. Tenants choose names, and therefore name servers, which may never answer. A name
 * with a dot is asked of DNS directly, without the threads that Node also needs for files: `getaddrinfo` cannot be aborted,
 * and would keep one. Only names without a dot and those in the hosts file, whose answers no tenant can delay, are resolved
 * like elsewhere in the system.
 */
export function systemResolver({ servers, hostsFile = '/etc/hosts' }: ResolverOptions = {}): Resolve {
  const local = new FairLimiter({ share: 1, concurrency: 2, maxWaitMs: LOCAL_WAIT_MS });
  return async (hostname) => {
    const name = hostname.toLowerCase();
    if (name.includes('.') && !(await hostNames(hostsFile)).has(name)) return queried(hostname, servers);
    return local.run(name, undefined, () => dns.lookup(hostname, { all: true }));
  };
}

async function hostNames(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.toLowerCase().split('\n');
  return new Set(lines.flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1)));
}

/** Asks name servers for both kinds of addresses. A resolver of its own can be cancelled, and reads the current settings. */
async function queried(hostname: string, servers?: readonly string[]): Promise<LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: RESOLVE_MS / 4, tries: 2 });
  if (servers) resolver.setServers(servers);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    resolver.cancel();
  }, RESOLVE_MS);
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  clearTimeout(timer);
  const found = answers.flatMap((answer, index) =>
    answer.status === 'rejected'
      ? []
      : answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })),
  );
  if (found.length > 0) return found;
  const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : ''));
  const code = isLate || codes.includes('ETIMEOUT') ? 'ETIMEDOUT' : 'ENOTFOUND';
  throw Object.assign(new Error(`${hostname} cannot be resolved.`), { code });
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

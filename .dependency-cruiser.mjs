// The stairs of the house: an area may import another only through its index, and only from a lower floor. Areas
// that do not exist yet have their place here already. Read from the compiled output, where type-only imports, which
// bind nothing, are gone.
export const FLOORS = [
  ['registry'],
  ['files', 'telemetry', 'model-gateway'],
  ['skills', 'mcp-servers', 'api-proxy'],
  ['agents'],
  ['evaluation'],
  ['store'],
  ['mcp-endpoint'],
];

const areas = FLOORS.flat();
const floorOf = new Map(FLOORS.flatMap((names, floor) => names.map((name) => [name, floor])));
const any = (names) => `(${names.join('|') || '-'})`;
const SPEC = '\\.spec\\.js$';

const ofArea = (area) => [
  {
    name: `${area} imports only what is below it`,
    severity: 'error',
    from: { path: `^dist/src/${area}/`, pathNot: SPEC },
    to: {
      path: `^dist/src/${any(areas.filter((other) => other !== area && floorOf.get(other) >= floorOf.get(area)))}/`,
    },
  },
  {
    name: `${area} imports other areas only through their index`,
    severity: 'error',
    from: { path: `^dist/src/${area}/`, pathNot: SPEC },
    to: {
      path: `^dist/src/${any(areas.filter((other) => floorOf.get(other) < floorOf.get(area)))}/`,
      pathNot: '^dist/src/[^/]+/index\\.js$',
    },
  },
];

export default {
  forbidden: [
    ...areas.flatMap(ofArea),
    { name: 'no circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'areas do not reach up to what composes them',
      severity: 'error',
      from: { path: `^dist/src/${any(areas)}/`, pathNot: SPEC },
      to: { path: '^dist/src/([^/]+\\.js|openapi/|database/)' },
    },
    {
      name: 'libs import no area',
      severity: 'error',
      from: { path: '^dist/libs/', pathNot: `(^dist/libs/testing/|${SPEC})` },
      to: { path: '^dist/src/' },
    },
    {
      name: 'otlp knows nothing of Nest',
      severity: 'error',
      from: { path: '^dist/libs/otlp/' },
      to: { path: 'node_modules/@nestjs/' },
    },
    {
      name: 'what ships imports nothing of the tests',
      severity: 'error',
      from: { path: '^dist/(src|libs)/', pathNot: `(^dist/libs/testing/|${SPEC})` },
      to: { path: '^dist/(libs/testing|test|bench|examples)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    includeOnly: { path: '^(dist/(src|libs|test|bench|examples)/|node_modules/@nestjs/)' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['require', 'node', 'default'] },
  },
};

/** The configuration of orval. It uses one media type of each body: JSON where there is one, otherwise a form. */
module.exports = {
  api: {
    input: { target: 'generated/openapi.json' },
    output: {
      target: 'generated/orval/api.ts',
      schemas: 'generated/orval/model',
      client: 'fetch',
      mode: 'split',
      override: {
        contentType: { include: ['application/json', 'multipart/form-data'] },
        mutator: { path: 'generated/orval-fetch.ts', name: 'send' },
      },
    },
  },
};

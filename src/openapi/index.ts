export { serveDocs } from './docs-page';
export { buildDocument } from './document';
export { OpenApiModule } from './openapi.module';
export { OpenApiSource } from './openapi.source';

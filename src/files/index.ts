export { FilesHttpModule } from './files.http.module';
export { FilesModule } from './files.module';

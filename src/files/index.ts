export { FilesHttpModule } from './files.http.module';
export { FilesModule } from './files.module';
export { type FileDto, FileListQueryDto } from './files/file.dto';
export { FileService } from './files/file.service';

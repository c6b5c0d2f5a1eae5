/* Softmax over rows. With CUDA: cc -DWITH_CUDA example.c $(pkg-config --cflags --libs kiln) -lcudart
 * Without, on the CPU reference: cc example.c $(pkg-config --cflags --libs kiln) */
#include <kiln/kiln.h>
#include <stdio.h>
#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

int main(void) {
    enum { ROWS = 2, COLS = 4 };
    float x[ROWS][COLS] = {{0, 1, 2, 3}, {4, 4, 4, 4}}, y[ROWS][COLS] = {{0}};
    const int64_t sizes[] = {ROWS, COLS};
    kiln_context *context = NULL;
    kiln_program *program = NULL;

    kiln_status status = kiln_context_create(NULL, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x * 0.5)", NULL, &program);
#ifdef WITH_CUDA
    void *device_x = NULL, *device_y = NULL;
    cudaMalloc(&device_x, sizeof(x));
    cudaMalloc(&device_y, sizeof(y));
    cudaMemcpy(device_x, x, sizeof(x), cudaMemcpyHostToDevice);
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(device_x, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(device_y, KILN_F32, 2, sizes)};
    if (!status) status = kiln_run(program, tensors, 2, NULL, 0, NULL); /* compiles once, then only launches */
    cudaMemcpy(y, device_y, sizeof(y), cudaMemcpyDeviceToHost);
    cudaFree(device_x);
    cudaFree(device_y);
#else
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(x, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(y, KILN_F32, 2, sizes)};
    if (!status) status = kiln_run_cpu(program, tensors, 2, NULL, 0);
#endif
    if (status) fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_last_error());
    for (int row = 0; !status && row < ROWS; row++) {
        for (int col = 0; col < COLS; col++) printf("%.6f%c", (double)y[row][col], col < COLS - 1 ? ' ' : '\n');
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status != KILN_OK;
}
